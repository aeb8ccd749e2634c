"""Which pool a run goes to, and what a pool of shared cards gives."""

from __future__ import annotations

import pytest

from ava.domain.model import Pool
from ava.domain.placement.capacity import snapshot
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.pools import pool_for, share_problems, usable
from ava.domain.spec import Amount, Role, Spec
from tests.unit.ava.domain.placement.states import GIB, node

SHARED = Pool("1", "a-shared", True, {}, gpu_slots=4)
WHOLE = Pool("2", "whole", True, {})


def spec(*gpus: int) -> Spec:
    roles = tuple(
        Role(name=f"r{i}", replicas=2, each=Amount(gpu=gpu, cpu=100, memory=GIB))
        for i, gpu in enumerate(gpus)
    )
    return Spec(image="i", roles=roles)


def test_no_one_gets_a_slot_who_did_not_choose_a_queue_of_slots() -> None:
    assert pool_for(True, None, [SHARED, WHOLE]) == "whole", "although the other is first by name"
    assert pool_for(True, None, [SHARED]) == "gpu", "the default pool, of whole cards"
    assert pool_for(True, "a-shared", [SHARED, WHOLE]) == "a-shared"
    assert pool_for(False, "a-shared", [SHARED]) is None
    assert pool_for(False, None, [Pool("3", "plain", False, {}, gpu_slots=4)]) == "plain", "it has no cards"
    assert [p.name for p in usable([SHARED])] == ["a-shared", "gpu", "cpu"]


@pytest.mark.parametrize(
    ("gpus", "pool", "where"),
    [
        ((1, 0), SHARED, []),
        ((2,), SHARED, ["body.roles[0].each.gpu"]),
        ((1, 3, 0, 2), SHARED, ["body.roles[1].each.gpu", "body.roles[3].each.gpu"]),
        ((2, 8), WHOLE, []),
    ],
)
def test_a_pod_gets_one_slot(gpus: tuple[int, ...], pool: Pool, where: list[str]) -> None:
    assert [p.where for p in share_problems(spec(*gpus), pool, "body.")] == where


def test_what_is_free_tells_slots_apart_from_cards() -> None:
    nodes = (node("a", 8, slots=4, labels={}), node("b", 2, labels={}))
    room = snapshot(Cluster((SHARED, WHOLE), nodes), "default", {})
    assert {(p.name, p.pools, p.slots, p.free.gpu) for p in room.nodes} == {
        ("a", ("a-shared",), 4, 8),
        ("b", ("whole",), 1, 2),
    }
