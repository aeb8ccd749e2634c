"""Nodes that are drained: what runs there leaves in time, services without a gap, and no tenant holds a node."""

import asyncio
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet

from ava.domain.model import Outcome, Phase, Topic
from ava.domain.node_drains import NOTICE
from ava.operator import node_drains
from tests.unit.ava.operator.fake_cluster import in_room, now, settings, start
from tests.unit.ava.operator.test_operator_disks import Makers, bench, claims
from tests.unit.ava.operator.test_operator_model_services import in_service, serving, watched

NONE = timedelta(0)
HALF = timedelta(minutes=30)
SLEEP = {"command": ["sleep", "9999"], "roles": [{"name": "worker", "each": {"cpu": 100, "memory": 2**26}}]}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("ava.operator.controller.LOOK_AT_DRAINS", 0.1)
    monkeypatch.setattr("ava.domain.node_drains.LEAST_FOR_SERVICES", HALF)


def begin(room, node, wait=NONE, at=None, **more):
    asked = {"by": "ann", "wait": wait, "stop_runs": False} | more
    return room.db.node_drains.begin("default", node, at or now(), **asked)


def node_of(room, run):
    (pod,) = room.pods(run)
    return pod["spec"]["nodeName"]


async def running(room, **spec):
    run = start(room.db, **(SLEEP | spec))
    await room.until(lambda: room.phases(run) == ["Running"])
    return run


@pytest.mark.parametrize("deaf", [False, True])
def test_a_training_leaves_when_it_is_ended_and_its_charge_ends_with_its_pod(db, deaf):
    """Also one that ignores SIGTERM."""

    async def test(room):
        room.nodes.sigterm_deaf = deaf
        run = await running(room)
        node = node_of(room, run)
        await room.nodes.cordon(node)
        begin(room, node, stop_runs=True)
        await room.until(lambda: room.finished(run))
        assert room.pods(run) == []
        done = room.run(run)
        assert (done.outcome, done.reason.values) == (Outcome.STOPPED, {"node": node})
        assert db.charges.list(run=run.id, open_only=True) == []

    in_room(db, test)


def test_a_training_stays_until_its_owner_agrees_and_a_run_elsewhere_whatever_happens(db):
    async def test(room):
        run, other = await running(room), await running(room, name="other")
        node = node_of(room, run)
        assert node != node_of(room, other)
        await room.nodes.cordon(node)
        begin(room, node)
        await asyncio.sleep(0.5)
        assert room.run(run).stop is None
        db.node_drains.consent(run.id, now())
        await room.until(lambda: room.finished(run))
        assert room.run(other).stop is None
        assert room.phases(other) == ["Running"]

    in_room(db, test)


def test_nothing_is_stopped_before_the_notice_is_over(db):
    async def test(room):
        run = await running(room)
        node = node_of(room, run)
        await room.nodes.cordon(node)
        begin(room, node, HALF, stop_runs=True)
        await asyncio.sleep(0.5)
        assert room.run(run).stop is None

    in_room(db, test)


def test_the_owner_of_a_run_that_came_meanwhile_is_notified_once(db):
    async def test(room):
        begin(room, "node-0", HALF)
        begin(room, "node-1", HALF)
        run = await running(room)

        def notices():
            return [m.object for m in db.outbox.list_open(Topic.NOTICE) if m.kind == NOTICE]

        await room.until(lambda: notices() == [run.id])
        await asyncio.sleep(0.4)
        assert notices() == [run.id]

    in_room(db, test)


def test_where_a_node_takes_pods_again_by_whatever_way_nothing_is_stopped(db, monkeypatch):
    """Uncordoned with kubectl, which the platform does not hear of."""
    monkeypatch.setattr(node_drains, "CORDON_SECONDS", 0)

    async def test(room):
        run = await running(room)
        node = node_of(room, run)
        begin(room, node, HALF, at=now() - HALF, stop_runs=True)
        await room.until(lambda: db.node_drains.list() == [])
        await asyncio.sleep(0.3)
        assert room.run(run).stop is None

    in_room(db, test)


def test_a_service_has_a_replica_elsewhere_before_the_one_on_the_node_goes(db):
    async def test(room, run):
        node = room.pods(run)[0]["spec"]["nodeName"]
        await room.nodes.cordon(node)
        with watched(room, run) as counts:
            begin(room, node)
            await room.until(
                lambda: all(p["spec"].get("nodeName") not in ("", None, node) for p in room.pods(run))
            )
            await room.until(lambda: len(serving(room, run)) == 2)
        assert min(counts) == 2
        assert room.run(run).phase is Phase.ADMITTED and room.run(run).stop is None

    in_service(db, test)


def test_a_service_whose_replicas_never_become_ready_elsewhere_leaves_when_its_time_is_over(db, monkeypatch):
    async def test(room, run):
        node = room.pods(run)[0]["spec"]["nodeName"]
        room.nodes.serves = lambda pod: False
        await room.nodes.cordon(node)
        begin(room, node)
        await asyncio.sleep(0.6)
        assert any(p["spec"].get("nodeName") == node for p in room.pods(run))
        monkeypatch.setattr("ava.domain.node_drains.LEAST_FOR_SERVICES", NONE)
        await room.until(lambda: all(p["spec"].get("nodeName") != node for p in room.pods(run)))
        assert room.run(run).stop is None

    in_service(db, test)


def test_a_workbench_leaves_and_its_disk_stays(db, tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(Fernet.generate_key())

    async def test(room):
        async with Makers(room).at_work():
            run = bench(db)
            await room.until(lambda: room.phases(run) == ["Running"])
            node = node_of(room, run)
            await room.nodes.cordon(node)
            begin(room, node)
            await room.until(lambda: room.finished(run))
            assert room.pods(run) == []
            assert db.definitions.get(run.definition).deleted is None
            assert len(claims(room)) == 1

    in_room(db, test, config=settings().model_copy(update={"sealing_keys": path}))
