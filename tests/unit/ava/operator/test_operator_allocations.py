"""What is billed and what a time limit counts: from when all pods have nodes, not from the admission."""

import asyncio
from datetime import UTC, datetime, timedelta

from ava.domain.model import Outcome, Phase, Pool
from ava.kube.resources import PODS
from tests.unit.ava.operator.fake_cluster import in_room, operating, settings, start

GPUS = {"roles": [{"name": "worker", "replicas": 2, "each": {"gpu": 1}}]}


def usage(db):
    since = datetime.now(UTC) - timedelta(hours=2)
    now = datetime.now(UTC)
    (found,) = db.charges.usage(since, now, now=now)
    return found


def test_a_run_that_waits_for_nodes_uses_nothing_and_its_time_limit_has_not_begun(db):
    async def test(room):
        room.nodes.binds = False
        run = start(db, command=["sleep"], time_limit=1, **GPUS)
        await room.until(lambda: room.phases(run) == ["Pending", "Pending"])
        await asyncio.sleep(2.5)
        waiting = room.run(run)
        assert (waiting.phase, waiting.started) == (Phase.ADMITTED, None)
        assert usage(db).gpu_seconds == 0 and usage(db).reserved.gpu >= 4
        room.nodes.binds = True
        for pod in room.pods(run):
            room.nodes._changed(None, pod)
        await room.until(lambda: room.finished(run))
        after = room.run(run)
        assert after.outcome is Outcome.TIMED_OUT
        assert after.finished - after.started >= timedelta(seconds=0.9)
        assert 2 <= usage(db).gpu_seconds < usage(db).reserved.gpu

    in_room(db, test)


def test_part_of_a_gang_on_nodes_is_not_billed(db):
    async def test(room):
        room.nodes.binds = False
        run = start(db, command=["sleep"], **GPUS)
        await room.until(lambda: len(room.pods(run)) == 2)
        meta = room.pods(run)[0]["metadata"]
        await room.client.bind(meta["namespace"], meta["name"], meta["uid"], room.nodes.names[0])
        await room.until(lambda: "Running" in room.phases(run))
        await asyncio.sleep(0.3)
        assert room.run(run).started is None
        room.nodes.binds = True
        for pod in room.pods(run):
            room.nodes._changed(None, pod)
        await room.until(lambda: room.run(run).started is not None)

    in_room(db, test)


def test_a_run_that_ended_while_the_operator_was_away_is_billed_until_its_pods_ended(db):
    async def test(room):
        async with operating(room.client, db):
            run = start(db, command=["sleep"], **GPUS)
            await room.until(lambda: room.phases(run) == ["Running", "Running"])
            await room.until(lambda: room.run(run).started is not None)
        # It ends now; the operator is back an hour later by what the pods say.
        began = room.run(run).started
        for pod in room.pods(run):
            end = (began + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
            report = {"name": "main", "state": {"terminated": {"exitCode": 0, "finishedAt": end}}}
            status = {**pod["status"], "phase": "Succeeded", "containerStatuses": [report]}
            await room.api.put("pods", {**pod, "status": status})
        await asyncio.sleep(2.5)
        async with operating(room.client, db):
            await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.SUCCEEDED
        assert usage(db).gpu_seconds <= 2 * 1
        assert usage(db).reserved.gpu >= 2 * 2

    in_room(db, test, operator=False)


def test_a_next_attempt_that_waits_for_a_node_is_not_billed(db):
    async def test(room):
        run = start(db, command=["sleep"], retries=1, roles=[{"name": "worker", "each": {"gpu": 1}}])
        await room.until(lambda: room.run(run).started is not None)
        room.nodes.binds = False
        meta = room.pods(run)[0]["metadata"]
        await room.client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace=0)
        await room.until(lambda: room.run(run).attempt == 1 and len(room.pods(run)) == 1)
        await room.until(lambda: room.phases(run) == ["Pending"])
        await asyncio.sleep(0.5)
        before = usage(db)
        await asyncio.sleep(1.2)
        assert (usage(db).gpu_seconds, usage(db).reserved.gpu > before.reserved.gpu) == (
            before.gpu_seconds,
            True,
        )

    in_room(db, test, config=settings())


def test_pods_go_to_the_pool_that_their_run_was_admitted_to(db):
    async def test(room):
        run = start(db, command=["sleep"], **GPUS)
        db.pools.put(Pool("", "other", True, {"a": "b"}))
        db.queues.put("default", datetime.now(UTC), pool="other")
        async with operating(room.client, db):
            await room.until(lambda: len(room.pods(run)) == 2)
        assert {pod["metadata"]["annotations"]["ava.io/pool"] for pod in room.pods(run)} == {"cards"}

    in_room(db, test, operator=False)
