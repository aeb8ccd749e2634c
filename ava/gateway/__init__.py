"""Gateways into workbenches: HTTP for browsers, ssh for terminals."""
