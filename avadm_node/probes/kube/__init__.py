"""Asking Kubernetes for something on a master."""
