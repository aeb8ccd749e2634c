"""Workbenches: tickets for browsers, and the idle rule."""
