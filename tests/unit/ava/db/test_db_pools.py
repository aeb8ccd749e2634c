"""Pools."""

import pytest

from ava.domain.model import Pool
from tests.unit.ava.db.world import NOW, code, refused

GPUS = Pool("", "gpus", gpu=True, selector={"ava/pool": "gpus"}, cpu_ratio=2.0, gpu_slots=4)


def test_a_pool_is_made_and_changed_by_name(db):
    made = db.pools.put(GPUS)
    assert len(made.id) == 13
    assert db.pools.list() == [made]
    changed = db.pools.put(Pool("ignored", "gpus", gpu=True, selector={}, memory_ratio=1.5))
    assert changed.id == made.id
    assert db.pools.list() == [changed]
    assert db.pools.list()[0].gpu_slots == 1


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": "GPUs"}, "name"),
        ({"cpu_ratio": 0.5}, "cpu_ratio"),
        ({"memory_ratio": float("nan")}, "memory_ratio"),
        ({"gpu_slots": 0}, "gpu_slots"),
        ({"gpu_slots": -1}, "gpu_slots"),
        ({"selector": {str(n): "x" for n in range(51)}}, "selector"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(db, change, where):
    values = {"id": "", "name": "gpus", "gpu": True, "selector": {}} | change
    assert [p.where for p in refused(db.pools.put, Pool(**values)).problems] == [where]
    assert db.pools.list() == []


def test_a_pool_is_deleted_when_no_queue_names_it_and_no_run_goes_there(world):
    whole = Pool("", "gpus", gpu=True, selector={"ava/pool": "gpus"})
    cpus = Pool("", "cpus", gpu=False, selector={"ava/pool": "cpus"})
    for pool in (whole, cpus):
        world.db.pools.put(pool)
    world.db.queues.put("night", NOW, pool="gpus")
    assert refused(world.db.pools.delete, "gpus").problems[0].found == "queue night"
    world.db.queues.delete("night", NOW)
    run = world.submit()
    assert refused(world.db.pools.delete, "gpus").problems[0].found == "1 runs that have not finished"
    # Where it does not go: the control.
    world.db.pools.delete("cpus")
    world.db.runs.stop(run.id, NOW, by="ann")
    world.db.pools.delete("gpus")
    assert world.db.pools.list() == []
    assert code(world.db.pools.delete, "gpus") == (404, "not-found")
