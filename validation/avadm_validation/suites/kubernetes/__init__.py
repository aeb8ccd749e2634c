"""The Kubernetes suite (K-*): nodes, pods, services, names, the way in, policy, GPUs, the API, memory, volumes, limits."""

# They register the functions that reports name.
from avadm_validation.suites.kubernetes import extract  # noqa: F401
