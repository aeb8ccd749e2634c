"""Queues and pools."""

import pytest

from ava.domain.model import Pool, Quota, Topic
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, code, refused

GPUS = Pool("", "gpus", gpu=True, selector={"ava/pool": "gpus"}, cpu_ratio=2.0, gpu_slots=4)


def test_there_is_a_queue_without_limits_from_the_beginning(store):
    (queue,) = store.queues()
    assert (queue.name, queue.quota, queue.pool) == ("default", Quota(None, None, None), None)


def test_a_queue_is_made_and_then_changed_in_what_is_given(store):
    store.put_pool(GPUS)
    made = store.put_queue("night", NOW, pool="gpus", quota=Quota(8, None, 2**40), priority=70)
    assert (made.pool, made.quota, made.priority) == ("gpus", Quota(8, None, 2**40), 70)
    changed = store.put_queue("night", NOW, priority=10)
    assert (changed.id, changed.pool, changed.quota, changed.priority) == (made.id, "gpus", made.quota, 10)
    assert [q.name for q in store.queues()] == ["default", "night"]
    store.put_queue("night", NOW, priority=90)
    assert [q.name for q in store.queues()] == ["night", "default"]


def test_a_queue_that_is_to_be_new_replaces_none_and_a_deleted_one_begins_anew(store):
    made = store.put_queue("night", NOW, priority=70, known=False)
    assert code(store.put_queue, "night", NOW, priority=10, known=False) == (409, "name-taken")
    assert made.priority == 70 == next(q for q in store.queues() if q.name == "night").priority
    store.delete_queue("night", NOW)
    assert store.put_queue("night", NOW, priority=20, known=False).priority == 20


def test_a_queues_quota_is_not_set_below_what_is_used(world):
    world.running()
    refusal = refused(world.store.put_queue, "default", NOW, quota=Quota(0, None, None), priority=1)
    assert (refusal.status, refusal.problems[0].code) == (409, "quota-below-use")
    assert world.store.queues()[0].priority == 50
    assert world.store.put_queue("default", NOW, quota=Quota(*ONE)).used == ONE


def test_a_changed_queue_is_told_to_the_scheduler(world):
    world.store.put_queue("default", NOW, quota=Quota(10, None, None))
    assert ("queue-changed", "default") in world.kinds(Topic.SCHEDULER)


def test_a_pool_is_made_and_changed_by_name(store):
    made = store.put_pool(GPUS)
    assert len(made.id) == 13
    assert store.pools() == [made]
    changed = store.put_pool(Pool("ignored", "gpus", gpu=True, selector={}, memory_ratio=1.5))
    assert changed.id == made.id
    assert store.pools() == [changed]
    assert store.pools()[0].gpu_slots == 1


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
def test_a_pool_that_cannot_be_is_refused(store, change, where):
    values = {"id": "", "name": "gpus", "gpu": True, "selector": {}} | change
    assert [p.where for p in refused(store.put_pool, Pool(**values)).problems] == [where]
    assert store.pools() == []


def test_a_queue_for_a_pool_that_is_not_there_is_refused_and_not_made(store):
    assert code(store.put_queue, "night", NOW, pool="gpus") == (422, "pool-unknown")
    assert [q.name for q in store.queues()] == ["default"]
    assert store.queues()[0].used == Resources()


def test_a_queue_is_deleted_when_nothing_is_in_it_and_its_name_begins_anew(world):
    world.store.put_pool(GPUS)
    world.store.put_queue("night", NOW, pool="gpus", quota=Quota(8, None, None), priority=70)
    run = world.submit(queue="night")
    assert code(world.store.delete_queue, "night", NOW) == (409, "queue-in-use")
    world.store.stop(run.id, NOW, by="ann")
    world.store.delete_queue("night", NOW)
    assert [q.name for q in world.store.queues()] == ["default"]
    assert code(world.store.delete_queue, "night", NOW) == (404, "not-found")
    assert world.store.run(run.id).queue == "night"
    assert code(lambda: world.submit(queue="night"))[0] == 404
    made = world.store.put_queue("night", NOW)
    assert (made.pool, made.quota, made.priority) == (None, Quota(None, None, None), 50)


def test_the_queue_of_those_who_name_none_stays(store):
    assert code(store.delete_queue, "default", NOW) == (409, "queue-default")
    assert code(store.delete_queue, "../x", NOW)[0] == 404


def test_a_pool_is_deleted_when_no_queue_names_it_and_no_run_goes_there(world):
    whole = Pool("", "gpus", gpu=True, selector={"ava/pool": "gpus"})
    cpus = Pool("", "cpus", gpu=False, selector={"ava/pool": "cpus"})
    for pool in (whole, cpus):
        world.store.put_pool(pool)
    world.store.put_queue("night", NOW, pool="gpus")
    assert refused(world.store.delete_pool, "gpus").problems[0].found == "queue night"
    world.store.delete_queue("night", NOW)
    run = world.submit()
    assert refused(world.store.delete_pool, "gpus").problems[0].found == "1 runs that have not finished"
    # Where it does not go: the control.
    world.store.delete_pool("cpus")
    world.store.stop(run.id, NOW, by="ann")
    world.store.delete_pool("gpus")
    assert world.store.pools() == []
    assert code(world.store.delete_pool, "gpus") == (404, "not-found")
