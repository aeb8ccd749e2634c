"""The outbox, pods, heartbeats."""

import threading
import time

from ava.db.records import pod_state
from ava.domain.model import Outcome, PodState, Topic
from tests.unit.ava.db.world import NOW, code, later


def pod(run, index=0, **more):
    return PodState(
        run.id,
        f"{run.id}-0-worker-{index}",
        "worker",
        index,
        more.pop("attempt", 0),
        more.pop("phase", "Running"),
        **more,
    )


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


def test_what_is_refused_tells_nobody(world):
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
        woken.append((world.db.outbox.wait(Topic.SCHEDULER, 10), time.monotonic() - begin))

    thread = threading.Thread(target=waits)
    thread.start()
    time.sleep(0.3)
    world.submit()
    thread.join(15)
    ((there, seconds),) = woken
    assert there and 0.2 < seconds < 5
    begin = time.monotonic()
    assert not world.db.outbox.wait(Topic.NOTICE, 0.3)
    assert time.monotonic() - begin >= 0.25


def test_a_message_written_before_anybody_waited_is_not_slept_over(world):
    world.submit()
    assert world.db.outbox.wait(Topic.SCHEDULER, 5)


def test_what_is_known_of_pods_is_replaced(world):
    run, other = world.running(), world.running()
    one, two = pod(run, 0, node="n1", started=NOW), pod(run, 1, phase="Pending")
    world.db.pods.record(run.id, [two, one], NOW)
    assert world.db.pods.list([run.id, other.id]) == {
        run.id: [
            PodState(**{f: getattr(p, f) for f in p.__slots__ if f != "seen"}, seen=NOW) for p in (one, two)
        ],
        other.id: [],
    }
    world.db.pods.record(
        run.id, [pod(run, 1, phase="Failed", exit_code=137, reason="OOMKilled", restarts=2)], later(1)
    )
    (left,) = world.db.pods.list([run.id])[run.id]
    assert (left.phase, left.exit_code, left.reason, left.restarts) == ("Failed", 137, "OOMKilled", 2)
    world.db.pods.record(run.id, [], later(2))
    assert world.db.pods.list([run.id]) == {run.id: []}


def test_seen_is_when_a_pod_last_changed(world):
    run = world.running()
    world.db.pods.record(run.id, [pod(run, 0), pod(run, 1)], NOW)
    world.db.pods.record(run.id, [pod(run, 0), pod(run, 1, node="n2")], later(5))
    assert [p.seen for p in world.db.pods.list([run.id])[run.id]] == [NOW, later(5)]


def test_pods_of_a_finished_run_stay_known(world):
    run = world.running()
    world.db.pods.record(run.id, [pod(run, exit_code=1, phase="Failed")], NOW)
    world.db.runs.finish(run.id, Outcome.FAILED, "", NOW)
    assert world.db.pods.list([run.id])[run.id][0].exit_code == 1


def test_a_pods_last_words_are_cut_not_refused(world):
    run = world.running()
    words = "bad\0\ud800 " + "x" * 100_000
    world.db.pods.record(run.id, [pod(run, message=words, reason="Er\0ror")], NOW)
    (seen,) = world.db.pods.list([run.id])[run.id]
    assert seen.message.startswith("bad\ufffd") and len(seen.message) == 4096
    assert seen.reason == "Er\ufffdror"
    ended = world.db.runs.finish(run.id, Outcome.FAILED, words, NOW)
    assert len(ended.reason) == 4096 and "\0" not in ended.reason


def test_pods_of_a_run_that_is_not_there_are_refused(world):
    assert code(world.db.pods.record, "r1aaaaaaaaaaa", [], NOW) == (404, "not-found")
    assert world.db.pods.list(["r1aaaaaaaaaaa"]) == {"r1aaaaaaaaaaa": []}
    assert world.db.pods.list([]) == {}


def test_the_last_sign_of_life_is_kept(world):
    world.db.heartbeats.record("operator", NOW, {"leader": "a"})
    world.db.heartbeats.record("operator", later(5), {"leader": "b"})
    world.db.heartbeats.record("scheduler", later(1), {})
    assert world.db.heartbeats.list() == {
        "operator": (later(5), {"leader": "b"}),
        "scheduler": (later(1), {}),
    }


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


def test_what_another_version_knew_of_a_pod_besides_is_left_out():
    document = {"role": "worker", "index": 0, "attempt": 1, "phase": "Running", "gpus": ["GPU-1"], "later": 1}
    assert pod_state("r1", "p", document) == PodState("r1", "p", "worker", 0, 1, "Running")
