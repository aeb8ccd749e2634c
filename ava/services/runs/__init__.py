"""Runs: submission, rules of definitions, what becomes of them."""
