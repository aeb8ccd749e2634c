"""Asking a node for its mounts."""
