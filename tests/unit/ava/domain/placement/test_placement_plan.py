"""A gang is placed whole, by best fit, exactly as trying everything out would place it."""

from __future__ import annotations

import pytest

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, PlacementConstraints
from ava.domain.placement.plan import place, turn
from ava.domain.resources import Resources
from tests.unit.ava.domain.placement.states import GIB, POOLS, brute, gang, node, pod, random_state
from tests.unit.cost import calls


def nodes_of(cluster: Cluster, wanted: Gang) -> list[str] | None:
    done = place(cluster, wanted)
    return [p.node for p in done] if done is not None else None


@pytest.mark.parametrize("tenth", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))])
def test_equal_to_trying_everything_on_10000_random_small_states(tenth: int) -> None:
    placed = several = 0
    for seed in range(tenth * 1000, tenth * 1000 + 1000):
        nodes, bound, wanted = random_state(seed)
        cluster = Cluster(POOLS, nodes, bound)
        before = {name: (slot.free, slot.spare, dict(slot.on)) for name, slot in cluster.slots.items()}
        pods = sorted(wanted.pods, key=turn)
        expected = brute(nodes, bound, pods)
        assert nodes_of(cluster, wanted) == expected, seed
        placed += expected is not None
        several += expected is not None and len(pods) > 1
        if expected is None:
            after = {name: (slot.free, slot.spare, dict(slot.on)) for name, slot in cluster.slots.items()}
            assert after == before, seed
    assert placed > 300, "the states say nothing when hardly any gang fits"
    assert several > 100


def test_the_node_with_the_fewest_gpus_left_is_taken_then_least_cpu_memory_and_name() -> None:
    cluster = Cluster(POOLS, [node("a", 8), node("b", 4), node("c", 4), node("d", 4, cpu=32_000)])
    assert nodes_of(cluster, Gang("g", (pod("p", 2),))) == ["d"]
    cluster = Cluster(POOLS, [node("a", 8), node("c", 4), node("b", 4)])
    assert nodes_of(cluster, Gang("g", (pod("p", 2),))) == ["b"]


def test_whole_node_jobs_find_their_node_because_small_ones_leave_it_empty() -> None:
    cluster = Cluster(POOLS, [node("a", 8), node("b", 8)])
    for i in range(8):
        assert nodes_of(cluster, Gang(f"g{i}", (pod(f"p{i}", 1),))) == ["a"]
    assert nodes_of(cluster, Gang("g", (pod("p", 8),))) == ["b"]


def test_the_node_and_the_model_that_the_user_named_come_before_best_fit() -> None:
    nodes = [node("a", 2, model="P40"), node("b", 8, model="V100"), node("c", 8, model="V100")]
    cluster = Cluster(POOLS, nodes)
    assert nodes_of(cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("gpu", node="c")),))) == ["c"]
    assert nodes_of(cluster, Gang("h", (pod("q", 1, where=PlacementConstraints("gpu", model="V100")),))) == [
        "c"
    ]
    assert nodes_of(cluster, Gang("i", (pod("r", 1),))) == ["a"]


def test_a_named_node_that_is_full_is_not_replaced_by_another() -> None:
    cluster = Cluster(POOLS, [node("a", 1), node("b", 8)], [pod("x", 1, node="a")])
    assert nodes_of(cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("gpu", node="a")),))) is None


def test_a_mixed_gang_for_which_best_fit_alone_ends_in_a_corner_is_placed() -> None:
    # The large pod's best fit is the node that alone has the memory for the other one.
    cluster = Cluster(POOLS, [node("a", 2, memory=64 * GIB), node("b", 3, memory=16 * GIB)])
    wanted = Gang("g", (pod("big", 2, memory=GIB), pod("fat", 1, memory=32 * GIB)), 2)
    assert nodes_of(cluster, wanted) == ["b", "a"]


def test_nothing_of_a_gang_that_does_not_fit_is_counted() -> None:
    cluster = Cluster(POOLS, [node("a", 3)])
    assert place(cluster, gang("g", 4)) is None
    assert cluster.slots["a"].free.gpu == 3
    assert place(cluster, gang("h", 3)) is not None


def test_the_search_ends_on_a_gang_made_to_keep_it_busy() -> None:
    # 40 kinds of pods that fit by kind, and never together: a hostile definition costs milliseconds.
    nodes = [node(f"n{i}", 4, memory=100 * GIB) for i in range(30)]
    pods = tuple(pod(f"p{i}", 2, memory=(51 + i % 20) * GIB, cpu=1000 + i) for i in range(31))
    cluster = Cluster(POOLS, nodes)
    assert place(cluster, Gang("g", pods, len(pods))) is None
    assert all(slot.free == slot.node.room for slot in cluster.slots.values())


def test_a_gang_of_thousands_that_ends_in_a_corner_is_tried_a_few_times() -> None:
    # The same trap for the search, at the largest size that a definition may have.
    nodes = [node(f"n{i:03}", 8, memory=100 * GIB, pods=1000) for i in range(256)]
    many = tuple(
        pod(f"s{i}", 0, cpu=10, memory=2**24, where=PlacementConstraints("gpu")) for i in range(4600)
    )
    few = tuple(pod(f"p{i}", 4, memory=(51 + i % 9) * GIB, cpu=1000 + i % 9) for i in range(257))
    cluster = Cluster(POOLS, nodes)
    wanted = Gang("g", (*many, *few), 4857)
    # Two million where each of a thousand tries looks at the whole gang; 90 thousand are 20 ms on a quiet machine.
    assert calls(lambda: place(cluster, wanted)) < 250_000
    assert place(cluster, wanted) is None
    assert all(slot.free == slot.node.room for slot in cluster.slots.values())


def test_pods_of_a_pool_that_is_not_known_go_nowhere() -> None:
    cluster = Cluster(POOLS, [node("a", 3)])
    assert place(cluster, Gang("g", (pod("p", 1, where=PlacementConstraints("other")),))) is None


def test_a_cpu_run_never_goes_to_a_gpu_node_whose_plug_in_is_away() -> None:
    # The node shows no GPU just then; its taint and its labels still say what it is.
    away = node("a", 4)
    away = type(away)("a", Resources(0, 64_000, 512 * GIB), labels=away.labels, taints=away.taints)
    everywhere = (POOLS[0], type(POOLS[1])("2", "cpu", False, {}))
    cluster = Cluster(everywhere, [away])
    assert place(cluster, Gang("g", (pod("p", 0),))) is None
    cluster.set_node(node("b", 0))
    assert nodes_of(cluster, Gang("g", (pod("p", 0),))) == ["b"]


def test_pods_beyond_what_a_node_takes_go_elsewhere() -> None:
    cluster = Cluster(POOLS, [node("a", 4, pods=1), node("b", 8)])
    assert nodes_of(cluster, gang("g", 2)) == ["a", "b"]


def test_a_host_port_is_taken_once_per_node() -> None:
    cluster = Cluster(POOLS, [node("a", 4), node("b", 8)])
    port = frozenset({("TCP", "", 2222)})
    assert nodes_of(cluster, gang("g", 2, ports=port)) == ["a", "b"]
    assert nodes_of(cluster, gang("h", 1, ports=frozenset({("TCP", "10.0.0.1", 2222)}))) is None
    assert nodes_of(cluster, gang("i", 1, ports=frozenset({("UDP", "", 2222)}))) == ["a"]
