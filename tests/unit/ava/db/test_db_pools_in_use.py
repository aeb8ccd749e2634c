"""Pools that admitted runs go to: they cannot be deleted or changed so that the runs would wait for ever."""

from dataclasses import replace

import pytest

from ava.domain.model import Kind, Outcome, Pool
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, World, refused

GIB = 2**30
OLD = Pool("", "old", True, {"a": "1"})
NEW = Pool("", "new", True, {"a": "2"})
SHARED = Pool("", "shared", True, {"a": "3"}, gpu_slots=4)
CORES = Pool("", "cores", False, {})


def role(name="worker", gpu=1, replicas=1):
    return {"name": name, "replicas": replicas, "each": {"gpu": gpu, "cpu": 1000, "memory": GIB}}


@pytest.fixture
def world(db):
    world = World(db)
    for pool in (OLD, NEW, SHARED, CORES):
        db.pools.put(pool)
    db.queues.put("night", NOW, pool="old")
    return world


def run(world, *roles, queue="night", name="train", admit=True):
    roles = list(roles or [role()])
    spec = {"image": "i", "roles": roles}
    definition = world.db.definitions.save("ann", Kind.TRAINING, name, spec, NOW, replace=True)
    asks = Resources()
    for one in roles:
        asks = asks.plus(Resources(**one["each"]).times(one["replicas"]))
    made = world.db.runs.create(
        definition.id, f"k-{name}", NOW, asks=asks, spec=spec, queue=queue, priority=50, cluster="default"
    )
    if admit:
        assert world.db.runs.admit(made.id, NOW) == ()
    return world.db.runs.get(made.id)


def test_the_pool_is_recorded_at_admission_and_stays(world):
    made = run(world)
    world.db.queues.put("night", NOW, pool="new")
    assert made.pools == world.db.runs.get(made.id).pools == {"gpu": "old"}
    mixed = run(world, role("launcher", 0), role("worker", 1), queue="default", name="mpi")
    assert mixed.pools == {"gpu": "new", "cpu": "cores"}


def test_a_pool_to_which_admitted_runs_go_is_not_deleted(world):
    made = run(world)
    world.db.queues.put("night", NOW, pool="new")
    why = refused(world.db.pools.delete, "old")
    assert (why.status, why.problems[0].code) == (409, "pool-in-use")
    assert f"1 run admitted to it: train ({made.id})" in why.problems[0].found
    assert "stop" in why.problems[0].remedy
    world.db.runs.finish(made.id, Outcome.SUCCEEDED, "", NOW)
    world.db.pools.delete("old")


def test_a_pool_of_the_other_kind_of_roles_counts_too(world):
    run(world, role("launcher", 0), role("worker", 1), queue="default", name="mpi")
    world.db.pools.put(replace(CORES, name="a-cores"))
    assert "mpi" in refused(world.db.pools.delete, "cores").problems[0].found


def test_a_queue_with_pods_of_several_gpus_does_not_go_to_shared_cards(world):
    waiting = run(world, role(gpu=2), admit=False)
    why = refused(world.db.queues.put, "night", NOW, pool="shared")
    assert (why.status, why.problems[0].code) == (409, "pool-one-slot")
    assert f"train ({waiting.id})" in why.problems[0].found
    assert world.db.queues.list()[-1].pool == "old"
    # One that has been admitted continues in its own pool.
    assert world.db.runs.admit(waiting.id, NOW) == ()
    world.db.queues.put("night", NOW, pool="shared")
    assert world.db.runs.get(waiting.id).pools == {"gpu": "old"}


@pytest.mark.parametrize("admit", [True, False])
def test_cards_are_not_shared_under_pods_of_several_gpus(world, admit):
    made = run(world, role(gpu=2), admit=admit)
    why = refused(world.db.pools.put, replace(OLD, gpu_slots=4), known=True)
    assert (why.status, why.problems[0].code) == (409, "pool-one-slot")
    assert made.id in why.problems[0].found
    world.db.pools.put(replace(OLD, selector={"b": "1"}), known=True)


def test_a_pool_does_not_change_its_kind_under_admitted_runs(world):
    run(world)
    assert refused(world.db.pools.put, replace(OLD, gpu=False), known=True).problems[0].code == "pool-in-use"
