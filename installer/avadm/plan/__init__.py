"""Planning: which phases run where, in which order."""
