"""The checks of the Kubernetes suite, in the order in which they run."""

from __future__ import annotations

from avadm_validation.measuring.check import Check
from avadm_validation.suites.kubernetes.checks import (
    api,
    dns,
    evict,
    gpu,
    ingress,
    lb,
    mem,
    nodes,
    pods,
    policy,
    pre,
    quota,
    svc,
    vol,
)

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (
    *(nodes, pods),
    *(svc, dns, ingress, lb, gpu, *vol.CHECKS, quota, evict),
    *(policy, api, mem),
)
TOGETHER: tuple[Check, ...] = (svc, dns, ingress, lb, gpu, *vol.CHECKS, quota, evict)
"""Those that run at the same time as their neighbours here: they judge what happens and not how fast, and leave the
others' objects alone."""
