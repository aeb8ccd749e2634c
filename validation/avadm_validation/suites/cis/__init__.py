"""The CIS suite: the controls of the CIS Kubernetes Benchmark 1.2.0, read on each node."""

# It registers the functions that reports name.
from avadm_validation.suites.cis import extract  # noqa: F401
