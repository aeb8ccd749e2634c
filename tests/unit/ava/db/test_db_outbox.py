"""The outbox."""

import threading
import time

from ava.domain.model import Topic
from tests.unit.ava.db.world import NOW, later


def test_messages_are_open_in_order_until_they_are_done(world):
    runs = [world.submit() for _ in range(3)]
    messages = world.db.outbox.list_open(Topic.SCHEDULER)
    assert [m.object for m in messages] == [r.id for r in runs]
    assert messages[0].seq < messages[1].seq < messages[2].seq
    assert messages[0].created == NOW and messages[0].topic is Topic.SCHEDULER
    world.db.outbox.complete([messages[1].seq], NOW)
    world.db.outbox.complete([messages[1].seq, 10**9], later(1))
    world.db.outbox.complete([], NOW)
    assert [m.object for m in world.db.outbox.list_open(Topic.SCHEDULER)] == [runs[0].id, runs[2].id]
    assert len(world.db.outbox.list_open(Topic.SCHEDULER, limit=1)) == 1


def test_what_is_refused_sends_no_message(world):
    before = [world.kinds(t) for t in Topic]
    run = world.submit()
    world.db.groups.set_quota("vision", world.db.groups.get("vision").quota, NOW)
    reports = [world.kinds(t) for t in Topic]
    assert reports != before
    world.db.queues.put("default", NOW, quota=type(world.db.groups.get("vision").quota)(0, 0, 0))
    reports = [world.kinds(t) for t in Topic]
    assert world.db.runs.admit(run.id, NOW)
    assert [world.kinds(t) for t in Topic] == reports


def test_a_message_wakes_who_waits_for_its_topic(world):
    world.db.outbox.wait(Topic.SCHEDULER, 0)
    world.db.outbox.wait(Topic.NOTICE, 0)
    while world.db.outbox.wait(Topic.SCHEDULER, 0.2) or world.db.outbox.wait(Topic.NOTICE, 0.2):
        pass
    woken = []

    def waits():
        begin = time.monotonic()
        woken.append((world.db.outbox.wait(Topic.SCHEDULER, 60), time.monotonic() - begin))

    thread = threading.Thread(target=waits)
    thread.start()
    time.sleep(0.3)
    world.submit()
    thread.join(50)
    ((there, seconds),) = woken
    assert there and 0.2 < seconds < 40
    begin = time.monotonic()
    assert not world.db.outbox.wait(Topic.NOTICE, 0.3)
    assert time.monotonic() - begin >= 0.25


def test_a_message_written_before_anyone_waited_is_not_slept_over(world):
    world.submit()
    assert world.db.outbox.wait(Topic.SCHEDULER, 5)


def test_what_is_over_is_swept_and_what_is_open_stays(world):
    world.submit()
    world.submit()
    first, _ = world.db.outbox.list_open(Topic.SCHEDULER)
    world.db.outbox.complete([first.seq], NOW)
    world.db.secrets.create("ann", "session", "a" * 64, NOW, until=later(10))
    world.db.secrets.create("ann", "token", "b" * 64, NOW, until=None)
    assert world.db.outbox.sweep(NOW) == 0
    # With two for the storage service, which a site without shared folders has not: its passes do the same work.
    assert world.db.outbox.sweep(later(60)) == 4
    assert world.db.outbox.list_open(Topic.STORAGE) == []
    assert len(world.db.outbox.list_open(Topic.SCHEDULER)) == 1
    assert world.db.secrets.list("ann", "session") == []
    assert len(world.db.secrets.list("ann", "token")) == 1
