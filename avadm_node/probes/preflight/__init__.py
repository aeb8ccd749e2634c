"""The facts of a node that preflight judges; nothing is changed."""
