"""Why a gang waits: one reason per cause, with numbers, and what a person can do."""

from __future__ import annotations

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, PlacementConstraints, Taint
from ava.domain.placement.reasons import explain
from ava.domain.resources import Resources
from tests.unit.ava.domain.placement.states import GIB, POOLS, gang, node, pod


def test_each_cause_is_reported_once_with_the_number_of_nodes() -> None:
    nodes = [
        *(node(f"n{i}", 4) for i in range(3)),
        node("tainted", 8, taints=(Taint("keep"),)),
        node("cordoned", 8, cordoned=True),
        node("broken", 8, troubles=("NotReady", "DiskPressure")),
        node("little", 8, cpu=500),
        node("cpu", 0),
    ]
    cluster = Cluster(POOLS, nodes, [pod(f"x{i}", 2 + (i == 0), node=f"n{i}") for i in range(3)])
    problems = explain(cluster, Gang("g", (pod("p", 4),)))
    assert [(p.code, p.what) for p in problems] == [
        ("nodes-gpu", "3 nodes: GPU 2 free at most, 4 wanted."),
        ("nodes-taint", "1 node: with a taint that is not tolerated."),
        ("nodes-cordoned", "1 node: taken out of use."),
        ("nodes-condition", "1 node: in trouble."),
        ("nodes-cpu", "1 node: CPU 0.5 free at most, 1 wanted."),
    ]
    assert problems[3].found == "DiskPressure, NotReady"
    assert all(p.where == "pool gpu, worker" and p.found and p.wanted and p.remedy for p in problems)


def test_of_a_named_node_only_what_it_lacks_is_reported() -> None:
    cluster = Cluster(POOLS, [node("a", 4), node("b", 8)], [pod("x", 3, node="a")])
    (p,) = explain(cluster, Gang("g", (pod("p", 2, where=PlacementConstraints("gpu", node="a")),)))
    assert p.what == "1 node: GPU 1 free at most, 2 wanted."


def test_a_named_node_that_is_not_there_is_reported() -> None:
    (p,) = explain(
        Cluster(POOLS, [node("a", 4)]), Gang("g", (pod("p", 2, where=PlacementConstraints("gpu", node="z")),))
    )
    assert (p.code, p.found, p.wanted) == ("nodes-node", "a", "z")


def test_the_models_that_there_are_are_reported() -> None:
    cluster = Cluster(POOLS, [node("a", 4, model="P40"), node("b", 4, model="V100")])
    (p,) = explain(cluster, Gang("g", (pod("p", 2, where=PlacementConstraints("gpu", model="A100")),)))
    assert (p.code, p.found, p.wanted) == ("nodes-model", "P40, V100", "A100")


def test_a_gang_is_reported_how_many_of_each_kind_fit() -> None:
    cluster = Cluster(POOLS, [node("a", 3)])
    problems = explain(cluster, gang("g", 4))
    assert problems[-1].code == "gang"
    assert (
        problems[-1].what
        == "All 4 pods start together; room is there for 3 of 4 worker, each kind by itself."
    )


def test_what_is_kept_for_an_earlier_run_is_reported_to_be_the_reason() -> None:
    cluster = Cluster(POOLS, [node("a", 4)])
    cluster.hold("a", Resources(4))
    (p,) = explain(cluster, Gang("g", (pod("p", 1),)))
    assert "kept for runs before this one" in p.what


def test_pools_that_are_unknown_or_empty() -> None:
    cluster = Cluster(POOLS, [node("a", 4)])
    assert [p.code for p in explain(cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("x")),)))] == [
        "pool-unknown"
    ]
    assert [p.code for p in explain(cluster, Gang("g", (pod("p", 0),)))] == ["pool-empty"]


def test_memory_labels_ports_and_full_nodes() -> None:
    port = frozenset({("TCP", "", 2222)})
    nodes = [node("a", 4, memory=4 * GIB), node("b", 4, pods=1), node("c", 4)]
    cluster = Cluster(POOLS, nodes, [pod("x", 1, node="b"), pod("y", 1, node="c", ports=port)])
    found = {p.code: p.what for p in explain(cluster, Gang("g", (pod("p", 1, memory=5 * GIB, ports=port),)))}
    assert found == {
        "nodes-memory": "1 node: memory 4 GiB free at most, 5 GiB wanted.",
        "nodes-pods": "1 node: with as many pods as they take.",
        "nodes-ports": "1 node: where the port is taken.",
    }
    (p,) = explain(
        cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("gpu", selector=(("rack", "b"),))),))
    )
    assert (p.code, p.wanted) == ("nodes-selector", "rack=b")


def test_many_nodes_are_not_reported_by_name() -> None:
    cluster = Cluster(POOLS, [node(f"n{i:03}", 4) for i in range(256)])
    (p,) = explain(cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("gpu", node="z")),)))
    assert p.found == "n000, n001, n002, n003, n004 and 251 more"


def test_a_workbench_whose_disk_s_node_is_gone_is_informed() -> None:
    there = PlacementConstraints("gpu", node="z", disk=True)
    (p,) = explain(Cluster(POOLS, [node("a", 4)]), Gang("g", (pod("p", where=there),)))
    assert (p.code, p.found, p.wanted) == ("disk-node-gone", "a", "z")
    assert p.what == "1 node: not the node z, where the workbench's disk is."
    assert "make it again" in p.remedy


def test_of_the_node_with_its_disk_only_what_it_lacks_is_reported() -> None:
    cluster = Cluster(POOLS, [node("a", 4), node("b", 8)], [pod("x", 3, node="a")])
    (p,) = explain(cluster, Gang("g", (pod("p", 2, where=PlacementConstraints("gpu", node="a", disk=True)),)))
    assert p.code == "nodes-gpu"
    assert p.what.endswith("The workbench's disk is on a, so that it can run nowhere else.")


def test_too_little_disk_is_reported_with_the_most_that_is_left() -> None:
    cluster = Cluster(
        POOLS, [node("a", 4, disk=9 * GIB), node("b", 4)], [pod("x", 1, node="a", disk=3 * GIB)]
    )
    (p,) = explain(cluster, Gang("g", (pod("p", disk=8 * GIB),)))
    assert (p.code, p.what) == ("nodes-disk", "2 nodes: disk 6 GiB free at most, 8 GiB wanted.")
