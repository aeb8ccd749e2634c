"""The cache suite (A-AL-*): first against second reads, counters, change in the store, eviction, lost workers and masters."""

# It registers the functions that reports name.
from avadm_validation.suites.alluxio import extract  # noqa: F401
