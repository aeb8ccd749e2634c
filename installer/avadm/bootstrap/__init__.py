"""Bootstrap: pinned host keys, the controller's key, root and python on every node."""
