"""The logs suite (A-LOG-*): every node's lines arrive in every store, and none is lost with one store down (I8)."""

# It registers the functions that reports name.
from avadm_validation.suites.logs import extract  # noqa: F401
