"""What is kept up to date pod by pod is the same as what is counted from the beginning."""
# ruff: noqa: S311 - states, not secrets

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Node, PlacementConstraints, Pod
from ava.domain.resources import Resources
from tests.unit.ava.domain.placement.states import GIB, POOLS, node, pod


def facts(cluster: Cluster) -> object:
    wishes = [
        PlacementConstraints("gpu"),
        PlacementConstraints("cpu"),
        PlacementConstraints("gpu", node="n1"),
        PlacementConstraints("gpu", model="V100"),
    ]
    asks = [pod("x", gpu, 1000, GIB, where=w) for w in wishes for gpu in (0, 1, 3)]
    return (
        {n: (s.free, s.spare, s.fixed, set(s.on)) for n, s in cluster.slots.items()},
        [list(cluster.fitting(p)) for p in asks],
    )


@pytest.mark.parametrize("seed", range(60))
def test_any_sequence_of_events_ends_in_what_a_fresh_count_gives(seed: int) -> None:
    r = random.Random(seed)
    cluster = Cluster(POOLS)
    nodes: dict[str, Node] = {}
    pods: dict[str, Pod] = {}
    for step in range(120):
        name = f"n{r.randrange(25)}"
        match r.randrange(6):
            case 0:
                gpu = r.choice((0, 2, 4))
                nodes[name] = node(
                    name, gpu, r.choice((4000, 8000)), model=r.choice(("", "V100")), cordoned=r.random() < 0.2
                )
                cluster.set_node(nodes[name])
            case 1 if name in nodes and r.random() < 0.3:
                del nodes[name]
                cluster.drop_node(name)
            case 2 if name in nodes:
                nodes[name] = replace(nodes[name], room=Resources(r.choice((0, 4)), 6000, 8 * GIB))
                cluster.set_node(nodes[name])
            case 3 if pods:
                key = r.choice(list(pods))
                del pods[key]
                cluster.drop(key)
            case _:
                p = pod(f"p{r.randrange(30)}", r.randint(0, 2), node=name, fixed=r.random() < 0.3)
                pods[p.key] = p
                cluster.put(p)
        if step % 20 == 19:
            assert facts(cluster) == facts(Cluster(POOLS, nodes.values(), pods.values()))


def test_a_pod_counts_on_a_node_that_is_seen_only_later() -> None:
    cluster = Cluster(POOLS, [], [pod("p", 3, node="a")])
    cluster.set_node(node("a", 4))
    assert cluster.slots["a"].free.gpu == 1


def test_what_is_dropped_twice_is_dropped_once() -> None:
    cluster = Cluster(POOLS, [node("a", 4)], [pod("p", 3, node="a")])
    cluster.drop("ns/p")
    cluster.drop("ns/p")
    assert cluster.slots["a"].free.gpu == 4


def test_other_pools_change_who_may_go_where() -> None:
    cluster = Cluster(POOLS, [node("a", 4), node("b", 0)])
    assert cluster.may(PlacementConstraints("gpu")) == {"a"}
    cluster.set_pools([replace(POOLS[0], selector={"kind": "other"}), POOLS[1]])
    assert cluster.may(PlacementConstraints("gpu")) == set()
    assert cluster.may(PlacementConstraints("cpu")) == {"b"}


def test_what_is_kept_survives_a_change_of_the_node() -> None:
    cluster = Cluster(POOLS, [node("a", 4)])
    cluster.hold("a", Resources(3))
    cluster.set_node(node("a", 4, cordoned=True))
    cluster.set_node(node("a", 8))
    assert cluster.slots["a"].free.gpu == 5
    cluster.hold("a", Resources(-3))
    assert cluster.slots["a"].free.gpu == 8
