"""Run folders and the ledger: what was done, kept on disk."""
