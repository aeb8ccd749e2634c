"""AVA, the deep-learning platform: its ledger, API, operator, scheduler and command line."""

__version__ = "0.1.0"
