"""A run's life: its pods come, what they do is reported, they go, and only then its charge ends."""

import asyncio
import time

from ava.domain.model import Outcome, Phase
from ava.kube.resources import PODS
from tests.unit.ava.operator.fake_cluster import in_room, settings, start

WORKER = {"roles": [{"name": "worker", "replicas": 2}]}


def test_a_run_gets_its_pods_and_ends_when_all_have_succeeded(db):
    async def test(room):
        run = start(db, command=["exit-0"], **WORKER)
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.SUCCEEDED
        assert [c.ended is not None for c in db.charges.list(run=run.id)] == [True]
        assert sorted(room.nodes.ran) == [f"{run.id}-0-worker-0", f"{run.id}-0-worker-1"]
        assert room.left() == []

    in_room(db, test)


def test_what_pods_do_is_reported_to_the_database(db):
    async def test(room):
        room.nodes.binds = False
        run = start(db, command=["sleep"], **WORKER)
        await room.until(lambda: room.phases(run) == ["Pending", "Pending"])
        room.nodes.binds = True
        for pod in room.pods(run):
            room.nodes._changed(None, pod)
        await room.until(lambda: room.phases(run) == ["Running", "Running"])
        state = db.pods.list([run.id])[run.id][0]
        assert (state.node, state.address, state.attempt) == (state.node, "10.1.2.3", 0)
        assert state.node in room.nodes.names
        await room.until(lambda: "operator" in db.heartbeats.list())

    in_room(db, test)


def test_the_charge_ends_when_the_last_pod_is_gone_not_before(db):
    async def test(room):
        run = start(db, command=["sleep"], **WORKER)
        await room.until(lambda: room.phases(run) == ["Running", "Running"])
        room.nodes.deaf = {"node-0"}
        db.runs.stop(run.id, run.admitted, by="ann")
        await room.until(lambda: len(room.pods(run)) == 1)
        await asyncio.sleep(0.5)
        assert room.run(run).phase is Phase.ADMITTED
        assert [c.ended for c in db.charges.list(run=run.id)] == [None]
        room.nodes.deaf = set()
        room.nodes._changed(None, room.pods(run)[0])
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.STOPPED
        assert room.run(run).reason == "Stopped by ann."
        assert room.left() == []

    in_room(db, test)


def test_a_stop_reaches_pods_soon_and_pods_that_never_had_a_node_go_at_once(db):
    async def test(room):
        room.nodes.binds = False
        run = start(db, command=["sleep"], **WORKER)
        await room.until(lambda: len(room.pods(run)) == 2)
        began = time.monotonic()
        db.runs.stop(run.id, run.admitted, by="ann")
        await room.until(lambda: room.finished(run))
        assert time.monotonic() - began < 5
        assert room.left() == []

    in_room(db, test)


def test_a_time_limit_ends_a_run(db):
    async def test(room):
        run = start(db, command=["sleep"], time_limit=1, **WORKER)
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.TIMED_OUT
        assert "1 s" in room.run(run).reason

    in_room(db, test)


def test_a_run_that_failed_starts_again_as_often_as_it_may(db):
    async def test(room):
        run = start(db, command=["exit-3"], retries=2)
        await room.until(lambda: room.finished(run))
        after = room.run(run)
        assert (after.outcome, after.attempt) == (Outcome.FAILED, 2)
        assert "exit code 3" in after.reason
        assert "3 times" in after.reason
        assert room.nodes.ran == [f"{run.id}-{n}-worker-0" for n in range(3)]
        assert len(db.charges.list(run=run.id)) == 1

    in_room(db, test)


def test_pods_of_the_next_attempt_wait_until_the_last_of_this_one_is_gone(db):
    async def test(room):
        most = []
        real = room.api._write

        async def write(plural, key, thing, kind):
            reply = await real(plural, key, thing, kind)
            most.append(len(room.api.all("pods")))
            return reply

        room.api._write = write
        roles = [{"name": "a", "command": ["exit-1"]}, {"name": "b", "replicas": 3, "command": ["sleep"]}]
        run = start(db, roles=roles, retries=1)
        await room.until(lambda: room.finished(run))
        assert room.run(run).attempt == 1
        assert max(most) == 4

    in_room(db, test)


def test_a_pod_is_replaced_alone_and_the_others_go_on(db):
    async def test(room):
        failures = {"left": 2}

        def ends(pod):
            if "-a-" in pod["metadata"]["name"] and failures["left"]:
                failures["left"] -= 1
                return 1
            return None

        room.nodes.ends = ends
        roles = [{"name": "a", "policy": "restart-pod"}, {"name": "b"}]
        run = start(db, roles=roles)
        names = room.nodes.ran
        await room.until(lambda: names.count(f"{run.id}-0-a-0") == 3)
        await room.until(lambda: room.phases(run) == ["Running", "Running"])
        assert not failures["left"]
        assert names.count(f"{run.id}-0-b-0") == 1
        assert {p.role: p.restarts for p in db.pods.list([run.id])[run.id]} == {"a": 2, "b": 0}
        replaced = next(p for p in room.pods(run) if "-a-" in p["metadata"]["name"])
        assert replaced["metadata"]["annotations"]["ava.io/gang"] == "1"

    in_room(db, test)


def test_abort_ends_the_run_with_the_first_cause_and_not_with_what_it_did_to_the_others(db):
    async def test(room):
        roles = [{"name": "a", "policy": "abort", "command": ["exit-9"]}, {"name": "b", "policy": "abort"}]
        run = start(db, roles=roles)
        await room.until(lambda: room.finished(run))
        after = room.run(run)
        assert after.outcome is Outcome.ABORTED
        assert "Pod a 0" in after.reason

    in_room(db, test)


def test_delete_does_not_wait_for_commands_that_do_not_hear(db):
    async def test(room):
        room.nodes.sigterm_deaf = True
        roles = [{"name": "a", "policy": "delete", "command": ["exit-9"]}, {"name": "b", "policy": "delete"}]
        config = settings()
        run = start(db, roles=roles)
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.ABORTED
        assert config.pods.grace > 1

    in_room(db, test)


def test_a_pod_that_vanished_is_lost_and_the_run_starts_again_or_ends(db):
    async def test(room):
        again, not_again = start(db, name="a", retries=1), start(db, name="b")
        await room.until(lambda: room.phases(again) == room.phases(not_again) == ["Running"])
        for run in (again, not_again):
            await room.api._delete("pods", "ava-vision", f"{run.id}-0-worker-0", {"gracePeriodSeconds": 0})
        await room.until(lambda: room.finished(not_again) and room.run(again).attempt == 1)
        assert room.run(not_again).outcome is Outcome.LOST
        await room.until(lambda: room.phases(again) == ["Running"])

    in_room(db, test)


def test_an_image_that_is_unavailable_fails_after_a_while_or_at_once(db):
    async def test(room):
        room.nodes.deaf = set(room.nodes.names)
        late, never = start(db, name="a"), start(db, name="b")
        await room.until(
            lambda: (
                [bool(p["spec"].get("nodeName")) for r in (late, never) for p in room.pods(r)] == [True, True]
            )
        )
        for run, reason in ((late, "ImagePullBackOff"), (never, "InvalidImageName")):
            waiting = [{"name": "main", "state": {"waiting": {"reason": reason, "message": "no such"}}}]
            status = {"phase": "Pending", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": waiting}
            await room.client.patch(
                PODS,
                f"{run.id}-0-worker-0",
                {"status": status},
                "ava-vision",
                sub="status",
            )
        room.nodes.deaf = set()
        await room.until(lambda: room.finished(late, never))
        assert {room.run(r).outcome for r in (late, never)} == {Outcome.FAILED}
        assert "image" in room.run(late).reason

    in_room(db, test, config=settings(image_wait=1))


def test_a_run_that_can_never_be_made_ends_with_the_reason_and_nothing_is_left(db):
    async def test(room):
        git = {"url": "https://git.example.org/x", "commit": "a" * 40, "key": "mine"}
        run = start(db, git=git)
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.FAILED
        assert "deploy key" in room.run(run).reason
        assert room.left() == []

    in_room(db, test)
