"""Kubernetes as it runs: what is asked of it, and done to it, through a master."""
