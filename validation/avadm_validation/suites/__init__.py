"""Suites: what is measured; each check is one file."""
