"""Adapters: ansible-runner, the ssh fan-out."""
