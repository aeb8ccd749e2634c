"""Run folders and the state: what was done, kept on disk."""
