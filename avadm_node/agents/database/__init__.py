"""Backups of PostgreSQL on its nodes: made, looked after, verified by restoring, and brought back. Python 3.5 or later."""
