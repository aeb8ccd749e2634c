"""Queues."""

from ava.domain.model import Pool, Quota, Topic
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, code, refused

GPUS = Pool("", "gpus", gpu=True, selector={"ava/pool": "gpus"}, cpu_ratio=2.0, gpu_slots=4)


def test_there_is_a_queue_without_limits_from_the_beginning(db):
    (queue,) = db.queues.list()
    assert (queue.name, queue.quota, queue.pool) == ("default", Quota(None, None, None), None)


def test_a_queue_is_made_and_then_changed_in_what_is_given(db):
    db.pools.put(GPUS)
    made = db.queues.put("night", NOW, pool="gpus", quota=Quota(8, None, 2**40), priority=70)
    assert (made.pool, made.quota, made.priority) == ("gpus", Quota(8, None, 2**40), 70)
    changed = db.queues.put("night", NOW, priority=10)
    assert (changed.id, changed.pool, changed.quota, changed.priority) == (made.id, "gpus", made.quota, 10)
    assert [q.name for q in db.queues.list()] == ["default", "night"]
    db.queues.put("night", NOW, priority=90)
    assert [q.name for q in db.queues.list()] == ["night", "default"]


def test_a_queue_that_is_to_be_new_replaces_none_and_a_deleted_one_begins_again(db):
    made = db.queues.put("night", NOW, priority=70, known=False)
    assert code(db.queues.put, "night", NOW, priority=10, known=False) == (409, "name-taken")
    assert made.priority == 70 == next(q for q in db.queues.list() if q.name == "night").priority
    db.queues.delete("night", NOW)
    assert db.queues.put("night", NOW, priority=20, known=False).priority == 20


def test_a_queues_quota_is_not_set_below_what_is_used(world):
    world.running()
    refusal = refused(world.db.queues.put, "default", NOW, quota=Quota(0, None, None), priority=1)
    assert (refusal.status, refusal.problems[0].code) == (409, "quota-below-use")
    assert world.db.queues.list()[0].priority == 50
    assert world.db.queues.put("default", NOW, quota=Quota(*ONE)).used == ONE


def test_a_changed_queue_is_reported_to_the_scheduler(world):
    world.db.queues.put("default", NOW, quota=Quota(10, None, None))
    assert ("queue-changed", "default") in world.kinds(Topic.SCHEDULER)


def test_a_queue_for_a_pool_that_is_not_there_is_refused_and_not_made(db):
    assert code(db.queues.put, "night", NOW, pool="gpus") == (422, "pool-unknown")
    assert [q.name for q in db.queues.list()] == ["default"]
    assert db.queues.list()[0].used == Resources()


def test_a_queue_is_deleted_when_nothing_is_in_it_and_its_name_begins_again(world):
    world.db.pools.put(GPUS)
    world.db.queues.put("night", NOW, pool="gpus", quota=Quota(8, None, None), priority=70)
    run = world.submit(queue="night")
    assert code(world.db.queues.delete, "night", NOW) == (409, "queue-in-use")
    world.db.runs.stop(run.id, NOW, by="ann")
    world.db.queues.delete("night", NOW)
    assert [q.name for q in world.db.queues.list()] == ["default"]
    assert code(world.db.queues.delete, "night", NOW) == (404, "not-found")
    assert world.db.runs.get(run.id).queue == "night"
    assert code(lambda: world.submit(queue="night"))[0] == 404
    made = world.db.queues.put("night", NOW)
    assert (made.pool, made.quota, made.priority) == (None, Quota(None, None, None), 50)


def test_the_queue_of_those_who_name_none_stays(db):
    assert code(db.queues.delete, "default", NOW) == (409, "queue-default")
    assert code(db.queues.delete, "../x", NOW)[0] == 404
