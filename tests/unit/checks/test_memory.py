"""Memory is enough, of the cache too: preflight and the role judge by one rule."""

import pytest

from avadm.checks.evidence import PreflightContext
from avadm.checks.preflight import memory
from avadm.site import profile
from tests.unit.fakes import sites


def judged(gib, *roles, **alluxio):
    nodes = (sites.node("m1", 1, "alluxio_master"), sites.node("n1", 2, *roles))
    mounts = [{"path": "/datasets", "cephfs": "/datasets"}]
    site = sites.site(*nodes, components={"alluxio": {"mounts": mounts, **alluxio}})
    facts = {name: {"memory": {"total_mib": gib * 1024}} for name in ("m1", "n1")}
    return memory.judge(PreflightContext(site, profile.load("lab-bookworm"), site.nodes, facts, {}, {}))


@pytest.mark.parametrize(
    ("gib", "given", "good"),
    [
        (16, {}, True),
        (8, {}, False),
        (8, {"tiers": [{"kind": "MEM", "path": "/m", "quota_mib": 128}]}, True),
        (16, {"worker_heap_mib": 15000}, False),
    ],
    ids=["computed", "too-small", "given", "too-large"],
)
def test_a_cache_without_room_is_an_error_before_anything_is_installed(gib, given, good):
    found = [f for f in judged(gib, "worker", "alluxio_worker", "alluxio_client", **given) if f.host == "n1"]
    assert [(f.check, f.severity.value) for f in found] == ([] if good else [("memory-cache", "error")])
    assert good or "quota_mib" in found[0].remedy or "smaller" in found[0].remedy


def test_less_memory_than_the_roles_want_is_a_warning():
    found = [(f.host, f.check, f.severity.value) for f in judged(1, "prometheus")]
    assert found == [("n1", "memory", "warning")]
