"""Programs that run on nodes for good, or by a timer."""
