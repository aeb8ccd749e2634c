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
    (nodes, svc, dns, gpu, *vol.CHECKS, quota, evict),
    (ingress, lb),
    (policy,),
)
"""Checks that others may be made beside: they judge what happens and not how fast. Those of the first stage leave one
another's objects alone. Those of the second come by virtual addresses, which a busy node gives up when its health is not
reported within a second: on two cores that was seen with everything else at the same time. The last one closes the others'
namespace."""
