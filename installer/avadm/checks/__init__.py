"""Preflight and version checks: facts are collected once, judged by many small files, printed elsewhere."""
