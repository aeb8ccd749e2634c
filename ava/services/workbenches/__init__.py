"""Workbenches: what users do with them, tickets for browsers, and the idle rule."""
