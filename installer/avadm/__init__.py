"""avadm: from a room of bare machines to a working, measured deep-learning cluster."""

__version__ = "0.1.0"
