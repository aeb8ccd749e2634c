"""Who may go to which nodes at all."""

from __future__ import annotations

import pytest

from ava.domain.labels import GPU
from ava.domain.model import Pool
from ava.domain.placement.filter import Cause, for_gpus, holds, obstacle
from ava.domain.placement.model import Node, PlacementConstraints, Requirement, Taint, Toleration
from ava.domain.resources import Resources
from tests.unit.ava.domain.placement.states import node

POOLS = {p.name: p for p in (Pool("1", "gpu", True, {}), Pool("2", "cpu", False, {}))}
KEEP = Taint("keep", "out", "NoSchedule")


@pytest.mark.parametrize(
    ("where", "n", "cause"),
    [
        (PlacementConstraints("gpu"), node("a", 4), None),
        (PlacementConstraints("gpu"), node("a", 0), Cause.POOL),
        (PlacementConstraints("cpu"), node("a", 0), None),
        (PlacementConstraints("cpu"), node("a", 4), Cause.POOL),
        (PlacementConstraints("none"), node("a", 4), Cause.POOL),
        (PlacementConstraints("gpu", node="b"), node("a", 4), Cause.NODE),
        (PlacementConstraints("gpu", model="V100"), node("a", 4, model="P40"), Cause.MODEL),
        (PlacementConstraints("gpu", model="V100"), node("a", 4), Cause.MODEL),
        (PlacementConstraints("gpu", selector=(("rack", "b"),)), node("a", 4), Cause.SELECTOR),
        (PlacementConstraints("gpu"), node("a", 4, taints=(Taint(GPU), KEEP)), Cause.TAINT),
        (
            PlacementConstraints("gpu", tolerations=(Toleration("keep", "Exists"),)),
            node("a", 4, taints=(KEEP,)),
            None,
        ),
        (
            PlacementConstraints("gpu", tolerations=(Toleration("keep", value="in"),)),
            node("a", 4, taints=(KEEP,)),
            Cause.TAINT,
        ),
        (
            PlacementConstraints("gpu", tolerations=(Toleration("keep", value="out"),)),
            node("a", 4, taints=(KEEP,)),
            None,
        ),
        (
            PlacementConstraints("gpu", tolerations=(Toleration(operator="Exists"),)),
            node("a", 4, taints=(KEEP,)),
            None,
        ),
        (PlacementConstraints("gpu", tolerations=(Toleration(),)), node("a", 4, taints=(KEEP,)), Cause.TAINT),
        (
            PlacementConstraints("gpu", tolerations=(Toleration("keep", "Exists", effect="NoExecute"),)),
            node("a", 4, taints=(KEEP,)),
            Cause.TAINT,
        ),
        (PlacementConstraints("gpu"), node("a", 4, taints=(Taint("slow", effect="PreferNoSchedule"),)), None),
        (PlacementConstraints("gpu"), node("a", 4, cordoned=True), Cause.CORDONED),
        (PlacementConstraints("gpu"), node("a", 4, troubles=("DiskPressure",)), Cause.CONDITION),
    ],
)
def test_what_keeps_a_pod_from_a_node(where: PlacementConstraints, n: Node, cause: Cause | None) -> None:
    assert obstacle(where, n, POOLS) is cause


@pytest.mark.parametrize(
    ("need", "met"),
    [
        (Requirement("rack", "In", ("a", "b")), True),
        (Requirement("rack", "In", ("b",)), False),
        (Requirement("rack", "NotIn", ("b",)), True),
        (Requirement("other", "NotIn", ("b",)), True),
        (Requirement("rack", "Exists"), True),
        (Requirement("other", "DoesNotExist"), True),
        (Requirement("rack", "DoesNotExist"), False),
        (Requirement("speed", "Gt", ("9",)), True),
        (Requirement("speed", "Lt", ("9",)), False),
        (Requirement("rack", "Gt", ("9",)), False),
        (Requirement("speed", "Gt", ("x",)), False),
        (Requirement("speed", "Gt"), False),
        (Requirement("rack", "Like", ("a",)), False),
    ],
)
def test_requirements_of_a_node_affinity(need: Requirement, met: bool) -> None:
    assert holds(need, {"rack": "a", "speed": "10"}) is met


def test_one_term_of_an_affinity_is_enough_and_all_of_its_requirements_count() -> None:
    both = (Requirement("rack", "Exists"), Requirement("speed", "Gt", ("9",)))
    n = node("a", 4, labels={"rack": "a", "speed": "3"})
    assert obstacle(PlacementConstraints("gpu", affinity=(both,)), n, POOLS) is Cause.SELECTOR
    assert (
        obstacle(PlacementConstraints("gpu", affinity=(both, (Requirement("rack", "Exists"),))), n, POOLS)
        is None
    )
    assert obstacle(PlacementConstraints("gpu", affinity=((),)), n, POOLS) is Cause.SELECTOR, (
        "an empty term matches nothing"
    )


@pytest.mark.parametrize(
    ("slots", "of_pool", "cause"),
    [(1, 1, None), (4, 4, None), (4, 1, Cause.POOL), (1, 4, Cause.POOL), (2, 4, Cause.POOL)],
)
def test_shared_cards_are_for_pools_that_share_them_as_finely(
    slots: int, of_pool: int, cause: Cause | None
) -> None:
    pools = {"gpu": Pool("1", "gpu", True, {}, gpu_slots=of_pool)}
    assert obstacle(PlacementConstraints("gpu"), node("a", 8, slots=slots), pools) is cause


def test_pods_without_gpus_ask_nothing_of_cards() -> None:
    pools = {"cpu": Pool("2", "cpu", False, {}, gpu_slots=4)}
    assert obstacle(PlacementConstraints("cpu"), node("a", 0), pools) is None


def test_a_gpu_node_is_known_by_what_it_has_its_taint_or_its_pool() -> None:
    pools = [Pool("1", "gpu", True, {"kind": "gpu"})]
    bare = Resources(0, 1000, 1000)
    assert for_gpus(Node("a", Resources(1)), pools)
    assert for_gpus(Node("a", bare, taints=(Taint(GPU),)), pools)
    assert for_gpus(Node("a", bare, labels={"kind": "gpu"}), pools)
    assert not for_gpus(Node("a", bare, labels={"kind": "cpu"}), pools)
    assert not for_gpus(Node("a", bare), [Pool("1", "gpu", True, {})]), (
        "a pool without labels says nothing of a node"
    )
