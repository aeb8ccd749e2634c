"""Which requests the scheduler's room refuses for good, while pods that are not AVA's come and go."""

from __future__ import annotations

import pytest

from ava.domain.model import Pool
from ava.domain.placement.capacity import snapshot
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.spec import Amount, Role, Spec
from ava.scheduler.cache import Cache
from tests.unit.ava.scheduler.builders import Object, node


def other(name: str, cpu: str, *, owner: str = "", ending: bool = False, static: bool = False) -> Object:
    """A bound pod that is not AVA's: of a Deployment (``ReplicaSet/uid``), a DaemonSet, static, or of no one."""
    kind, _, uid = owner.partition("/")
    meta = {"name": name, "namespace": "kube-system", "uid": f"uid-{name}"}
    meta |= {"deletionTimestamp": "2026-11-27T00:00:00Z"} if ending else {}
    meta |= {"ownerReferences": [{"kind": kind, "uid": uid, "controller": True}]} if owner else {}
    meta |= {"annotations": {"kubernetes.io/config.mirror": "x"}} if static else {}
    spec = {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("beside", "cores", "refused"),
    [
        (
            [other("ava-1", "6", owner="ReplicaSet/old"), other("ava-2", "6", owner="ReplicaSet/new")],
            8,
            False,
        ),
        ([other("job", "4", owner="Job/j"), other("bare", "4")], 8, False),
        ([other("cni-1", "1", owner="DaemonSet/d"), other("cni-2", "1", owner="DaemonSet/d")], 7, False),
        ([other("cni-1", "3", owner="DaemonSet/d"), other("cni-2", "1", owner="DaemonSet/d")], 7, False),
        ([other("cni-1", "1", owner="DaemonSet/d", ending=True)], 8, False),
        ([other("cni-1", "1", owner="DaemonSet/d"), other("dns", "1", owner="DaemonSet/e")], 7, True),
        ([other("cni-1", "1", owner="DaemonSet/d")], 8, True),
        ([other("proxy", "1", static=True)], 8, True),
    ],
    ids=["rollout", "may-end", "doubled", "shrinks", "removed", "two-daemons", "daemon", "static"],
)
def test_only_what_never_leaves_a_node_makes_a_run_impossible(
    beside: list[Object], cores: int, refused: bool
) -> None:
    cache = Cache([Pool("1", "all", False, {})])
    cache.on_node(None, node("n0", 0, cpu="8"))
    for thing in beside:
        cache.on_pod(None, thing)
    room = snapshot(cache.cluster, "default", cache.largest)
    role = Role(name="worker", replicas=1, each=Amount(gpu=0, cpu=1000 * cores, memory=2**30))
    found = infeasible_reasons(Spec(image="i", roles=(role,)), room, "all")
    assert [p.code for p in found] == ["never-fits"] * refused
    taken = sum(
        1000 * int(thing["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for thing in beside
    )
    assert cache.cluster.slots["n0"].free.cpu == 8000 - taken, "placement counts every pod"
