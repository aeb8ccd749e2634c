"""Faults of quotas, evictions and kubelets' limits, planted as raw data as those of `kubernetes.py`."""

from tests.controls.fault import Fault

FAULTS = (
    Fault(
        "no-quota",
        "the API server does not ask ResourceQuota: everything is admitted",
        "K-QUOTA",
        ("over-cpu", "over-memory", "says-nothing", "counted"),
        lambda c: c.limits.enforced.clear(),
    ),
    Fault(
        "memory-free",
        "the quota of memory is not kept (that of cpu is)",
        "K-QUOTA",
        ("over-memory", "counted"),
        lambda c: c.limits.enforced.discard("memory"),
    ),
    Fault(
        "never-known",
        "the controller never counts what is used: every pod is refused",
        "K-QUOTA",
        ("admitted", "over-cpu"),
        lambda c: setattr(c.limits, "unknown", True),
    ),
    Fault(
        "other-refusal",
        "pods are refused with 403, but not for the quota",
        "K-QUOTA",
        ("admitted", "over-cpu", "over-memory", "says-nothing"),
        lambda c: setattr(c.limits, "forbidden", True),
    ),
    Fault(
        "counts-twice",
        "every pod is counted twice: the second that fits is refused",
        "K-QUOTA",
        ("admitted",),
        lambda c: setattr(c.limits, "miscounts", True),
    ),
    Fault(
        "not-given-back",
        "what deleted pods had asked for stays counted",
        "K-QUOTA",
        ("freed",),
        lambda c: setattr(c.limits, "returns", False),
    ),
    Fault(
        "budget-ignored",
        "the eviction beyond the budget is granted",
        "K-EVICT",
        ("refused", "least-ready"),
        lambda c: setattr(c.limits, "budget_kept", False),
    ),
    Fault(
        "never-granted",
        "no eviction is granted, with room in the budget",
        "K-EVICT",
        ("granted",),
        lambda c: setattr(c.limits, "grants", False),
    ),
    Fault(
        "evicted-stays",
        "evicted pods stay",
        "K-EVICT",
        ("stayed",),
        lambda c: setattr(c.limits, "leaves", False),
    ),
    Fault(
        "other-threshold",
        "one kubelet evicts at another amount of memory than the site file says",
        "K-EVICT",
        ("other-limits",),
        lambda c: c.limits.kept.update(n2={"evictionHard": {"memory.available": "500Mi"}}),
    ),
    Fault(
        "kubelet-silent",
        "one kubelet does not tell what it runs with",
        "K-EVICT",
        (),
        lambda c: c.limits.silent.add("n2"),
        "INCONCLUSIVE",
    ),
    Fault(
        "nothing-kept-back",
        "one node offers pods all that it has",
        "K-EVICT",
        ("allocatable",),
        lambda c: c.offers.update(n2={"cpu": "2", "memory": "1048576Ki"}),
    ),
    Fault(
        "disk-pressure",
        "one node is short of disk",
        "K-EVICT",
        ("pressed",),
        lambda c: c.pressed.add("n2"),
    ),
)
