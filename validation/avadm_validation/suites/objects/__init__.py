"""The objects suite: the S3 store (I3), looked at from client nodes with a library that is not ours."""

# It registers the functions that reports name.
from avadm_validation.suites.objects import extract  # noqa: F401
