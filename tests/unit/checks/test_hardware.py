"""What a node's machine must have, by the stated profile: its roles' minima, the specification's numbers (P3 to P10, N12)."""

import pytest

from avadm.checks.evidence import PreflightContext
from avadm.checks.preflight import hardware
from avadm.site import profile
from avadm.site.hardware import minimum
from tests.unit.fakes import sites

STATED = profile.load("stated")


def site(*roles):
    return sites.site(*(sites.node(f"n{i}", i, *own) for i, own in enumerate(roles, 1)))


@pytest.mark.parametrize(
    ("roles", "cores", "gib", "disks"),
    [
        (["etcd", "master"], 36, 128, [240, 800]),
        (["worker", "dns"], 36, 128, [240]),
        (["worker", "client"], 64, 256, [240, 800, 800]),
        (["worker", "gpu"], None, None, []),
        (["mds"], 48, 256, [240, 800]),
    ],
    ids=["P7", "P8", "P10", "P6", "P4"],
)
def test_the_plans_machines(roles, cores, gib, disks):
    least = minimum(site(roles), STATED, site(roles).nodes[0])
    assert (least.cores, least.memory_gib, least.disks_gib) == (cores, gib, disks)
    assert bool(least.ssd) is bool(disks)
    assert (least.nics or 0) >= (2 if "gpu" in roles else 0)


@pytest.mark.parametrize(("role", "count", "good"), [("mds", 3, True), ("mds", 4, False), ("dns", 2, False)])
def test_the_plans_numbers_of_nodes(role, count, good):
    one = site(*[[role]] * count)
    found = hardware.judge(PreflightContext(one, STATED, one.nodes, {}, {}, {}))
    assert [f"{count}: n1" in f.found for f in found] == ([] if good else [True])


@pytest.mark.parametrize(
    ("speeds", "short"), [([10000], True), ([10000, None], False), ([10000, 1000], True)]
)
def test_interfaces_count_that_are_as_fast_as_the_role_wants(speeds, short):
    one = site(["worker", "gpu"])
    links = [{"name": f"eth{i}", "speed": s} for i, s in enumerate(speeds)]
    facts = {"n1": {"links": links}}
    found = hardware.judge(PreflightContext(one, STATED, one.nodes, facts, {}, {}))
    assert ["interfaces of 10 Gbit/s" in f.what for f in found] == ([True] if short else [])


@pytest.mark.parametrize(("devices", "short"), [(0, False), (1, True)])
def test_a_node_of_a_draft_is_not_short_of_devices(devices, short):
    one = sites.site(sites.node("n1", 1, "osd", devices=[{"serial": f"S{i}"} for i in range(devices)]))
    least = minimum(one, STATED, one.nodes[0]).devices
    assert least and least > 1
    found = hardware.judge(PreflightContext(one, STATED, one.nodes, {"n1": {}}, {}, {}))
    assert ["approved devices" in f.what for f in found] == ([True] if short else [])
