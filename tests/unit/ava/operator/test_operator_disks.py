"""Workbenches' disks: made where the first pod comes, found again, grown, and gone with the workbench alone."""

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet

from ava.domain.labels import DISK, DISK_NODE, VOLUMES
from ava.domain.model import Kind, Quota
from ava.kube.resources import CLAIMS, NODES
from ava.operator import controller, disks
from tests.unit.ava.operator.fake_cluster import in_room, now, operating, settings, start
from tests.unit.ava.operator.test_operator_killed import killed_at

GIB = 2**30


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(controller, "LOOK_AT_DISKS", 0.05)
    monkeypatch.setattr(disks, "PATIENCE", timedelta(seconds=1))
    monkeypatch.setattr(disks, "SETTLED", timedelta(seconds=1))


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(Fernet.generate_key())
    return settings().model_copy(update={"sealing_keys": path})


def bench(db, disk=2 * GIB, name="bench"):
    db.groups.set_quota("vision", Quota(gpu=1000, cpu=10_000_000, memory=2**50, disk=None), now())
    return start(db, kind=Kind.WORKBENCH, name=name, disk=disk)


def claims(room):
    return room.api.all("persistentvolumeclaims")


def running(room, run):
    return room.phases(run) == ["Running"]


def notes(pod):
    return pod["metadata"]["annotations"]


class Makers:
    """What nodes do: they make and grow the volumes of the claims that name them, and tell of them."""

    def __init__(self, room, free=100):
        self.room, self.free, self.works = room, free, True

    @asynccontextmanager
    async def at_work(self):
        task = asyncio.create_task(self._run())
        try:
            yield self
        finally:
            task.cancel()

    async def _run(self):
        while True:
            by_node = {name: {} for name in self.room.nodes.names}
            for claim in claims(self.room) if self.works else ():
                reply = claim["metadata"]["annotations"]
                size = reply.get("avadm.io/size") or claim["spec"]["resources"]["requests"]["storage"]
                by_node[reply["avadm.io/local-node"]][f"pvc-{claim['metadata']['uid']}"] = int(size[:-2])
                bound = {"status": {"phase": "Bound"}}
                meta = claim["metadata"]
                await self.room.client.patch(CLAIMS, meta["name"], bound, meta["namespace"], sub="status")
            for name, there in by_node.items():
                report = {VOLUMES: json.dumps({"free": self.free * 1024, "volumes": there})}
                await self.room.client.patch(NODES, name, {"metadata": {"annotations": report}})
            await asyncio.sleep(0.05)


def test_it_is_made_where_the_first_pod_comes_and_the_next_one_goes_there(db, config):
    async def test(room):
        async with Makers(room).at_work():
            run = bench(db)
            await room.until(lambda: claims(room))
            (pod,), (claim,) = room.pods(run), claims(room)
            assert notes(pod)[DISK] == str(2 * GIB)
            assert DISK_NODE not in notes(pod)
            node = pod["spec"]["nodeName"]
            assert claim["metadata"]["annotations"]["avadm.io/local-node"] == node
            assert claim["metadata"]["namespace"] == "ava-vision"
            assert claim["spec"]["storageClassName"] == "local"
            assert claim["spec"]["resources"]["requests"] == {"storage": "2048Mi"}
            mounts = {m["name"]: m["mountPath"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
            assert mounts["disk"] == "/disk"
            await room.until(lambda: db.disks.get(run.definition).size == 2 * GIB)
            assert db.disks.get(run.definition).node == node
            db.runs.stop(run.id, now(), by="ann")
            await room.until(lambda: room.finished(run))
            assert [c["metadata"]["uid"] for c in claims(room)] == [claim["metadata"]["uid"]]
            second = bench(db)
            await room.until(lambda: running(room, second))
            (pod,) = room.pods(second)
            assert notes(pod)[DISK_NODE] == node
            assert DISK not in notes(pod)
            assert [c["metadata"]["uid"] for c in claims(room)] == [claim["metadata"]["uid"]]

    in_room(db, test, config=config)


def test_it_grows_while_its_workbench_runs_and_what_is_in_the_way_is_reported(db, config):
    async def test(room):
        makers = Makers(room)
        async with makers.at_work():
            run = bench(db)
            await room.until(lambda: db.disks.get(run.definition).size == 2 * GIB)
            db.disks.grow(run.definition, 3 * GIB)
            await room.until(lambda: db.disks.get(run.definition).size == 3 * GIB)
            assert claims(room)[0]["metadata"]["annotations"]["avadm.io/size"] == "3072Mi"
            makers.works, makers.free = False, 1
        report = json.dumps({"free": 1024, "volumes": {f"pvc-{claims(room)[0]['metadata']['uid']}": 3072}})
        node = db.disks.get(run.definition).node
        await room.client.patch(NODES, node, {"metadata": {"annotations": {VOLUMES: report}}})
        db.disks.grow(run.definition, 7 * GIB)
        await room.until(lambda: db.disks.get(run.definition).trouble)
        assert (
            db.disks.get(run.definition).trouble == f"The node {node} has 1 GiB left, 4 GiB more are wanted."
        )
        db.disks.grow(run.definition, 3 * GIB)
        await room.until(lambda: not db.disks.get(run.definition).trouble)
        reply = claims(room)[0]["metadata"]["annotations"]["avadm.io/size"]
        assert (reply, db.disks.get(run.definition).promised) == ("3072Mi", 7 * GIB), (
            "counts until it is settled"
        )
        await room.until(lambda: not db.disks.list_open("default"))
        assert db.disks.get(run.definition).promised == 3 * GIB
        assert claims(room)[0]["metadata"]["annotations"]["avadm.io/size"] == "3072Mi"

    in_room(db, test, config=config)


def test_it_goes_with_its_workbench_and_nothing_else(db, config):
    async def test(room):
        async with Makers(room).at_work():
            run, other = bench(db), bench(db, name="other")
            await room.until(lambda: running(room, run) and running(room, other))
            for one in (run, other):
                db.runs.stop(one.id, now(), by="ann")
            await room.until(lambda: room.finished(run, other))
            db.definitions.delete(run.definition, now())
            await room.until(lambda: db.disks.get(run.definition) is None)
            assert [c["metadata"]["name"] for c in claims(room)] == [f"wb-{other.definition}"]
            assert not room.left()

    in_room(db, test, config=config)


def test_a_workbench_that_never_came_to_a_node_leaves_no_disk(db, config):
    async def test(room):
        room.nodes.binds = False
        run = bench(db)
        await room.until(lambda: room.pods(run))
        db.runs.stop(run.id, now(), by="ann")
        await room.until(lambda: room.finished(run))
        db.definitions.delete(run.definition, now())
        await room.until(lambda: db.disks.get(run.definition) is None)
        assert claims(room) == []

    in_room(db, test, config=config)


def test_a_node_without_room_is_left_for_another_as_long_as_there_is_no_volume(db, config):
    async def test(room):
        makers = Makers(room, free=1)
        makers.works = False
        async with makers.at_work():
            room.nodes.deaf = set(room.nodes.names)  # what waits for its volume does not start
            run = bench(db)
            await room.until(lambda: claims(room))
            first = claims(room)[0]["metadata"]["uid"]
            room.nodes.deaf = set()
            await room.until(lambda: room.run(run).attempt > 0)
            makers.works, makers.free = True, 100
            await room.until(lambda: db.disks.get(run.definition).size == 2 * GIB)
            assert first not in [c["metadata"]["uid"] for c in claims(room)]

    in_room(db, test, config=config)


def test_a_disk_that_may_hold_data_stays_whatever_its_node_does(db, config):
    async def test(room):
        async with Makers(room).at_work():
            run = bench(db)
            await room.until(lambda: db.disks.get(run.definition).size == 2 * GIB)
            uid = claims(room)[0]["metadata"]["uid"]
            db.runs.stop(run.id, now(), by="ann")
            await room.until(lambda: room.finished(run))
        node = db.disks.get(run.definition).node
        await room.client.patch(NODES, node, {"metadata": {"annotations": {VOLUMES: "{"}}})
        await room.nodes.ready(node, "Unknown")
        db.disks.grow(run.definition, 3 * GIB)
        await room.until(lambda: db.disks.get(run.definition).trouble)
        assert db.disks.get(run.definition).trouble == f"The node {node}, where it is, does not answer."
        room.nodes.binds = False
        second = bench(db, 3 * GIB)
        await room.until(lambda: room.pods(second))
        await asyncio.sleep(2.5)
        assert notes(room.pods(second)[0])[DISK_NODE] == node
        assert [c["metadata"]["uid"] for c in claims(room)] == [uid]
        assert db.disks.get(run.definition).size == 2 * GIB

    in_room(db, test, config=config)


def test_a_disk_that_was_never_made_is_forgotten_with_its_node(db, config):
    async def test(room):
        room.nodes.deaf = set(room.nodes.names)
        run = bench(db)
        await room.until(lambda: claims(room))
        node = claims(room)[0]["metadata"]["annotations"]["avadm.io/local-node"]
        db.runs.stop(run.id, now(), by="ann")
        room.nodes.deaf = set()
        await room.until(lambda: room.finished(run))
        await room.nodes.ready(node, "Unknown")
        await room.until(lambda: claims(room) == [])
        room.nodes.names.remove(node)
        async with Makers(room).at_work():
            second = bench(db)
            await room.until(lambda: db.disks.get(second.definition).size == 2 * GIB)
            assert claims(room)[0]["metadata"]["annotations"]["avadm.io/local-node"] != node

    in_room(db, test, config=config)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("about", ["persistentvolumeclaims", "disks."])
def test_a_kill_at_any_step_leaves_one_disk_and_then_none(db, config, after, about):
    async def test(room):
        async with Makers(room).at_work():
            run = bench(db)

            def made():
                disk = db.disks.get(run.definition)
                return running(room, run) and disk.size == disk.wanted

            def gone():
                return db.disks.get(run.definition) is None

            def killed(wanted):
                return killed_at(room, 0, after, wanted, config=config, about=about)

            assert await killed(made)
            async with operating(room.client, db, config):
                await room.until(made)
                assert [c["metadata"]["name"] for c in claims(room)] == [f"wb-{run.definition}"]
                db.runs.stop(run.id, now(), by="ann")
                await room.until(lambda: room.finished(run))
            db.definitions.delete(run.definition, now())
            assert await killed(gone)
            async with operating(room.client, db, config):
                await room.until(gone)
            assert claims(room) == []

    in_room(db, test, operator=False)
