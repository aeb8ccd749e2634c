"""The storage suite: cephfs (A-FS*) and block images (A-BD*), measured from client nodes."""

# It registers the functions that reports name.
from avadm_validation.suites.storage import extract  # noqa: F401
