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
BESIDE: tuple[tuple[Check, ...], ...] = (
    (nodes, svc, dns, ingress, lb, gpu, *vol.CHECKS, quota, evict),
    (policy,),
)
"""Checks that others may be made beside: they judge what happens and not how fast. Those of the first stage leave one another's
objects alone; the second closes the others' namespace."""
