"""What never fits is refused at submit, what is not proven is not; what is free is reported; the cluster is chosen."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from ava.domain.model import Pool
from ava.domain.placement.capacity import ClusterCapacity, part, rooms, snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.cluster_selector import ClusterSelector, gang_of
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.placement.model import Node, PlacementConstraints, Taint
from ava.domain.placement.plan import place
from ava.domain.placement.pools import pool_for, usable
from ava.domain.resources import Resources
from ava.domain.spec import Amount, Role, Spec
from tests.unit.ava.domain.placement.states import GIB, POOLS, node, pod


def spec(*roles: tuple[int, int], cpu: int = 1000, memory: int = GIB, **more: object) -> Spec:
    """Roles as (replicas, GPUs)."""
    made = tuple(
        Role(name=f"r{i}", replicas=count, each=Amount(gpu=gpu, cpu=cpu, memory=memory))
        for i, (count, gpu) in enumerate(roles)
    )
    return Spec(image="i", roles=made, **more)  # type: ignore[arg-type]


def room(*nodes: Node, name: str = "default", **more: object) -> ClusterCapacity:
    return snapshot(Cluster(POOLS, nodes), name, {}, **more)  # type: ignore[arg-type]


SITE = room(node("a", 8, model="V100"), node("b", 4, model="P40"), node("c", 0))


@pytest.mark.parametrize(
    ("asked", "pool", "found"),
    [
        (spec((1, 8)), "gpu", []),
        (spec((1, 9)), "gpu", [("never-fits", "roles[0].each.gpu")]),
        (spec((3, 4)), "gpu", []),
        (spec((4, 4)), "gpu", [("never-fits", "roles[0].replicas")]),
        (spec((2, 4), (1, 5)), "gpu", [("never-fits", "roles")]),
        (spec((1, 8), (1, 0)), "gpu", []),
        (spec((1, 8), (512, 0)), "gpu", [("never-fits", "roles[1].replicas")]),
        (spec((1, 4), (1, 0), gpu_model="P40"), "gpu", []),
        (spec((1, 0), gpu_model="A100"), "cpu", []),
        (spec((1, 1), cpu=65_000), "gpu", [("never-fits", "roles[0].each.cpu")]),
        (spec((1, 0), memory=513 * GIB), "cpu", [("never-fits", "roles[0].each.memory")]),
        (spec((1, 8), gpu_model="V100"), "gpu", []),
        (spec((1, 8), gpu_model="P40"), "gpu", [("never-fits", "roles[0].each.gpu")]),
        (spec((1, 1), gpu_model="A100"), "gpu", [("gpu-model-unknown", "gpu_model")]),
        (spec((1, 4), node="b"), "gpu", []),
        (spec((1, 8), node="b"), "gpu", [("never-fits", "roles[0].each.gpu")]),
        (spec((1, 1), node="z"), "gpu", [("node-unknown", "node")]),
        (spec((1, 1), node="c"), "gpu", [("node-unknown", "node")]),
        (spec((1, 1)), "unheard", []),
    ],
)
def test_only_what_is_proven_never_to_fit_is_refused(
    asked: Spec, pool: str, found: list[tuple[str, str]]
) -> None:
    assert [(p.code, p.where) for p in infeasible_reasons(asked, SITE, pool)] == found


def test_a_pool_without_nodes_takes_nothing() -> None:
    assert [p.code for p in infeasible_reasons(spec((1, 0)), room(node("a", 8)), "cpu")] == ["pool-empty"]


def test_nodes_in_trouble_cordoned_or_full_could_still_take_it_some_day() -> None:
    full = Cluster(
        POOLS,
        [node("a", 8, troubles=("NotReady",), cordoned=True)],
        [pod("x", 8, node="a")],
    )
    assert infeasible_reasons(spec((1, 8)), snapshot(full, "default", {}), "gpu") == []


def test_what_daemons_take_of_every_node_is_never_free() -> None:
    daemons = Cluster(POOLS, [node("a", 8)], [pod("d", 0, cpu=4000, node="a", fixed=True, resident="d")])
    found = infeasible_reasons(spec((1, 8), cpu=61_000), snapshot(daemons, "default", {}), "gpu")
    assert [(p.found, p.wanted) for p in found] == [("60 on the node that comes nearest", "61")]


def test_a_plug_in_that_is_away_makes_no_request_impossible() -> None:
    away = replace(node("a", 8), room=Resources(0, 64_000, 512 * GIB))
    cluster = Cluster(POOLS, [away])
    assert infeasible_reasons(spec((1, 8)), snapshot(cluster, "default", {}), "gpu") == []
    known = snapshot(cluster, "default", {"a": Resources(4, 64_000, 512 * GIB)})
    assert [p.code for p in infeasible_reasons(spec((1, 8)), known, "gpu")] == ["never-fits"]


def test_nothing_is_refused_that_an_idle_cluster_would_place() -> None:
    refused = placed = 0
    for seed in range(300):
        r = random.Random(seed)  # noqa: S311
        nodes = [
            node(f"n{i}", r.choice((2, 4, 8)), 1000 * r.choice((4, 8)), r.choice((8, 32)) * GIB)
            for i in range(4)
        ]
        asked = spec(
            *((r.randint(1, 4), r.randint(0, 5)) for _ in range(r.randint(1, 3))),
            cpu=r.choice((1000, 3000)),
            memory=r.choice((1, 6)) * GIB,
            node=r.choice((None, None, "n0")),
        )
        cluster = Cluster(POOLS, nodes)
        never = infeasible_reasons(asked, snapshot(cluster, "default", {}), "gpu")
        done = place(cluster, gang_of(asked, "gpu", "r"))
        assert not (never and done), seed
        refused += bool(never)
        placed += done is not None
    assert refused > 50
    assert placed > 50


def test_the_room_is_bounded_and_survives_being_written_down() -> None:
    many = room(*(node(f"n{i:04}", 8 if i else 4) for i in range(300)), limit=100)
    assert len(many.nodes) == 100
    assert not many.complete
    assert {(k.size.gpu, k.count) for k in many.kinds} == {(8, 299), (4, 1)}
    detail = json.loads(json.dumps(many.as_dict()))
    assert rooms({"scheduler:two": {"room": {**detail, "cluster": "two"}}}) == {
        "two": many.model_copy(update={"cluster": "two"})
    }
    assert infeasible_reasons(spec((1, 1), node="n0299"), many, "gpu") == [], "an unreported node may exist"


def test_signs_that_cannot_be_read_are_left_out() -> None:
    assert (
        rooms(
            {"operator": {"room": SITE.as_dict()}, "scheduler": {}, "scheduler:x": {"room": {"cluster": 3}}}
        )
        == {}
    )
    assert (part("default"), part("two")) == ("scheduler", "scheduler:two")


def test_the_room_tells_what_is_free_now_the_freest_node_first() -> None:
    cluster = Cluster(
        POOLS, [node("a", 8), node("b", 8), node("c", 8, cordoned=True)], [pod("x", 3, cpu=4000, node="a")]
    )
    report = snapshot(cluster, "default", {}).nodes
    assert [(n.name, n.free.gpu, n.free.cpu, n.open) for n in report] == [
        ("b", 8, 64_000, True),
        ("a", 5, 60_000, True),
        ("c", 0, 0, False),
    ]


def test_pools_of_a_site_without_any_and_the_pool_of_a_run() -> None:
    assert [p.name for p in usable([])] == ["gpu", "cpu"]
    own = [Pool("1", "small", True, {}), Pool("2", "large", True, {}), Pool("3", "plain", False, {})]
    assert [p.name for p in usable(own)] == ["small", "large", "plain"]
    assert pool_for(True, None, own) == "large"
    assert pool_for(False, None, own) == "plain"
    assert pool_for(True, "small", own) == "small"
    assert pool_for(False, "small", own) is None, "a run without GPUs does not go to GPU nodes"
    assert pool_for(True, "gone", own) is None


def choice(*rooms: ClusterCapacity) -> ClusterSelector:
    return ClusterSelector({r.cluster: r for r in rooms}, {p.name: p for p in POOLS})


def test_a_run_for_any_cluster_goes_where_it_fits_now() -> None:
    busy = snapshot(Cluster(POOLS, [node("a", 8)], [pod("x", 6, node="a")]), "busy", {})
    idle = room(node("b", 8), name="idle")
    assert choice(busy, idle).cluster_for("r", spec((1, 8)), "gpu") == "idle"
    assert choice(busy, idle).cluster_for("r", spec((1, 2)), "gpu") == "busy", "the idle node stays whole"


def test_runs_of_one_round_count_against_each_other() -> None:
    chosen = choice(room(node("a", 8), name="one"), room(node("b", 8), name="two"))
    assert [chosen.cluster_for(f"r{i}", spec((1, 8)), "gpu") for i in range(2)] == ["one", "two"]


def test_where_it_fits_nowhere_now_the_shorter_line_is_chosen_among_those_that_could_ever() -> None:
    full = Cluster(POOLS, [node("a", 8)], [pod("x", 8, node="a")])
    one, two = snapshot(full, "one", {}, waiting=3), snapshot(full, "two", {}, waiting=1)
    small = room(node("s", 4), name="small")
    chosen = choice(one, two, small)
    assert [chosen.cluster_for(f"r{i}", spec((1, 8)), "gpu") for i in range(3)] == ["two", "two", "one"]
    assert choice(small).cluster_for("r", spec((1, 8)), "gpu") is None


def test_the_named_node_decides_the_cluster() -> None:
    one, two = room(node("a", 8), name="one"), room(node("b", 8), name="two")
    assert choice(one, two).cluster_for("r", spec((1, 1), node="b"), "gpu") == "two"


def test_a_run_of_gpus_is_made_of_pods_that_ask_for_its_node_and_model() -> None:
    made = gang_of(spec((2, 1), (1, 0), node="b", gpu_model="V100"), "gpu", "r")
    assert {p.where for p in made.pods[:2]} == {PlacementConstraints("gpu", node="b", model="V100")}
    assert made.pods[2].where == PlacementConstraints("gpu", node="b"), "a pod without GPUs needs no model"
    apart = gang_of(spec((2, 1), (1, 0)), "gpu", "r", plain="cpu")
    assert [p.where.pool for p in apart.pods] == ["gpu", "gpu", "cpu"]
    assert gang_of(spec((1, 0)), "other", "r", plain="cpu").pods[0].where.pool == "other"
    assert [(p.role, p.index, p.asks.gpu) for p in made.pods] == [("r0", 0, 1), ("r0", 1, 1), ("r1", 0, 0)]


def test_a_master_is_no_place_for_runs_and_a_node_set_apart_takes_none_now() -> None:
    master = node("m", 0, taints=(Taint("node-role.kubernetes.io/master"),))
    apart = node("d", 0, taints=(Taint("maintenance"),))
    found = room(node("c", 0), master, apart, node("g", 8))
    assert {place.name: place.open for place in found.nodes} == {"c": True, "d": False, "g": True}
    assert sum(kind.count for kind in found.kinds) == 3


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        # Only the node with GPUs has so many cores, and no role without GPUs goes there.
        (spec((1, 1), (1, 0), cpu=60_000), ["never-fits"]),
        (spec((1, 1), (1, 0), cpu=4_000), []),
        (spec((1, 1), (1, 0), cpu=4_000, node="a"), []),
        (spec((1, 1), (3, 0), cpu=4_000), ["never-fits"]),
        (spec((1, 1), (1, 0), (1, 0), (1, 0), cpu=4_000), ["never-fits"]),
        (spec((1, 1), (1, 0), cpu=60_000, node="a"), ["never-fits"]),
    ],
)
def test_roles_without_gpus_are_compared_with_the_pool_that_they_go_to(asked: Spec, found: list[str]) -> None:
    site = room(node("a", 8, 64_000, 512 * GIB), node("c", 0, 8_000, 64 * GIB))
    assert [p.code for p in infeasible_reasons(asked, site, "gpu", "cpu")] == found
    assert (
        place(
            Cluster(POOLS, [node("a", 8, 64_000, 512 * GIB), node("c", 0, 8_000, 64 * GIB)]),
            gang_of(asked, "gpu", "r", plain="cpu"),
        )
        is None
        or not found
    )


def test_a_site_without_nodes_for_roles_without_gpus_says_so() -> None:
    found = infeasible_reasons(spec((1, 1), (1, 0)), room(node("a", 8)), "gpu", "cpu")
    assert [(p.code, p.where) for p in found] == [("pool-empty", "pool cpu")]
