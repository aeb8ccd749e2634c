"""The cache suite (A-AL-*): first against second reads, counters, change in the store, eviction, lost workers and masters."""

# First: its table of extractors names this suite's, which are made of its readers.
import avadm_validation.suites.storage  # noqa: F401
