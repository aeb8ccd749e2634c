"""The checks of the Kubernetes suite, in the order in which they run."""

from __future__ import annotations

from avadm_validation.suites.kubernetes.checks import (
    api,
    dns,
    gpu,
    ingress,
    lb,
    mem,
    nodes,
    pods,
    policy,
    pre,
    svc,
)
from avadm_validation.suites.storage import Check

PRECONDITIONS: Check = pre
CHECKS: tuple[Check, ...] = (nodes, pods, svc, dns, ingress, lb, policy, gpu, api, mem)
