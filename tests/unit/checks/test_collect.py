"""The probes for real, on this machine, under the fleet's shape."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from avadm.checks.collect import collect
from avadm.checks.preflight import CHECKS
from avadm.checks.versions import collect as collect_versions
from avadm_node.probes.preflight import disks as probe
from tests.unit.fakes.fleet import LocalFleet
from tests.unit.fakes.nodes import answer, given


class Here(LocalFleet):
    """A fleet whose nodes are all this machine, with clocks set off by milliseconds."""

    def __init__(self, offsets=None, broken=()):
        super().__init__()
        self.offsets = offsets or {}
        self.broken = broken

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.broken:
            return answer(node, command, rc=255, error="connection refused")
        done = super().run(node, command, timeout=timeout, stdin=stdin)
        return replace(done, started=done.started - self.offsets.get(node, 0) / 1000)


ELSEWHERE = {"packages", "package_sources", "time_sources"}


def test_facts_of_this_machine(site, mine):
    asked = [f for c in CHECKS for f in c.facts if f not in ELSEWHERE]
    context = collect(site, mine, site.nodes, Here({"stor2": 5000}, ["stor3"]), asked)
    facts = context.facts["stor1"]
    assert facts["errors"] == {}
    assert "127.0.0.1" in facts["addresses"]
    assert facts["memory"]["total_mib"] > 100
    assert facts["devices"] == [{"matches": 0}]
    assert [(p["name"], p["network"], p["size"]) for p in facts["peers"]] == [("stor2", "management", 1500)]
    assert set(facts) >= set(asked)
    assert context.unreachable == {"stor3": "connection refused"}
    difference = context.clocks["stor2"].offset_ms - context.clocks["stor1"].offset_ms
    assert abs(difference - 5000) < context.clocks["stor1"].error_ms + context.clocks["stor2"].error_ms + 1


def test_a_holder_is_reported_by_its_device_mapper_name(tmp_path):
    (tmp_path / "holders" / "dm-3" / "dm").mkdir(parents=True)
    (tmp_path / "holders" / "dm-3" / "dm" / "name").write_text("ceph--1-osd--block--2\n")
    (tmp_path / "holders" / "md0").mkdir()
    assert probe.holders(str(tmp_path)) == ["ceph--1-osd--block--2", "md0"]
    assert probe.holders(str(tmp_path / "none")) == []


def test_ctrl_c_closes_the_connections_that_it_would_wait_for(site, mine):
    closed = threading.Event()

    class Silent(Here):
        def run(self, node, command, **_):
            if node == "stor1":
                raise KeyboardInterrupt
            assert closed.wait(20)
            return answer(node, command, rc=255, error="closed")

        def close(self, nodes=None):
            super().close(nodes)
            closed.set()

    fleet = Silent()
    with pytest.raises(KeyboardInterrupt):
        collect(site, mine, site.nodes, fleet, ["os"])
    assert fleet.closed == ["stor1", "stor2", "stor3"]


def test_node_without_python_is_named(site, mine):
    absent = mine.model_copy(update={"python": "/usr/bin/python9"})
    context = collect(site, absent, site.nodes[:1], Here(), ["os"])
    assert "/usr/bin/python9" in context.unreachable["stor1"]


def test_versions_of_this_machine(site, mine):
    collected = collect_versions(SimpleNamespace(site=site, profile=mine), Here(broken=["stor2"]), site.nodes)
    assert collected["unreachable"] == {"stor2": "connection refused"}
    assert set(collected["nodes"]) == {"stor1", "stor3"}
    assert collected["nodes"]["stor1"]["kernel"]


class RecordedFleet:
    """A fleet that keeps what each node was asked with."""

    def __init__(self):
        self.params = {}

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.params[node] = given(stdin)
        return answer(node, command, rc=1)


@pytest.mark.parametrize(
    ("phase", "ports", "commands", "ceph"),
    [
        (None, {"prometheus", "blackbox_exporter"}, {"node_exporter", "etcd", "kubelet"}, True),
        ("etcd", set(), {"etcd"}, False),
        ("monitoring", {"prometheus", "blackbox_exporter"}, {"node_exporter"}, False),
        ("rbd", set(), set(), True),
    ],
)
def test_after_a_phase_its_parts_alone_are_asked_and_waited_for(site, mine, phase, ports, commands, ceph):
    fleet = RecordedFleet()
    node = site.nodes[0].model_copy(update={"roles": ["mon", "etcd", "worker", "prometheus"]})
    collect_versions(SimpleNamespace(site=site, profile=mine), fleet, [node], phase)
    asked = fleet.params[node.name]
    assert set(asked["ports"]) == ports
    assert set(asked["commands"]) >= commands
    assert phase is None or set(asked["commands"]) == commands
    assert (asked["ceph"], asked["cluster"], asked["patience"] > 0) == (ceph, ceph, phase is not None)


class Slow(Here):
    """A fleet whose first answers come late, and which counts how often each node is asked for its clock alone."""

    def __init__(self, late, **more):
        super().__init__(**more)
        self.late, self.asked = late, []

    def run(self, node, command, **more):
        result = super().run(node, command, **more)
        if command == "date +%s.%N":
            self.asked.append(node)
            return result
        return replace(result, started=result.started - self.late, seconds=result.seconds + 2 * self.late)


@pytest.mark.parametrize(
    ("late", "offsets", "again"),
    [
        (0.001, {}, set()),  # soon enough to be sure that any two are within 50 ms
        (0.3, {}, {"stor1", "stor2", "stor3"}),
        (0.3, {"stor2": 5000}, {"stor1", "stor3"}),  # stor2 is surely wrong
    ],
)
def test_only_clocks_that_are_not_sure_are_measured_again(site, mine, late, offsets, again):
    wide = site.model_copy(update={"time": site.time.model_copy(update={"max_skew_ms": 400.0})})
    # Where none is to be measured again a busy machine may be late by itself, which is not what is tested.
    for _ in range(1 if again else 3):
        fleet = Slow(late, offsets=offsets)
        context = collect(wide, mine, wide.nodes, fleet, ["os", "clock"])
        if set(fleet.asked) == again:
            break
    assert set(fleet.asked) == again
    assert set(context.clocks) == {"stor1", "stor2", "stor3"}
