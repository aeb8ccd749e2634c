"""Pods of runs, as they were last seen."""

from ava.db.records import pod_state
from ava.domain.model import Outcome, PodState
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


def test_what_another_version_knew_of_a_pod_besides_is_left_out():
    document = {"role": "worker", "index": 0, "attempt": 1, "phase": "Running", "gpus": ["GPU-1"], "later": 1}
    assert pod_state("r1", "p", document) == PodState("r1", "p", "worker", 0, 1, "Running")
