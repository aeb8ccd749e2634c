"""AVA, the deep-learning platform: its database, API, operator, scheduler and command line."""

__version__ = "0.1.0"
