"""The cache suite (A-AL-*): first against second reads, counters, change in the store, eviction, lost workers and masters."""
