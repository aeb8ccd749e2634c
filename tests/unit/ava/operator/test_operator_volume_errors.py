"""A pod whose node cannot mount a data set says why, and ends its run when that lasts: it never waits for ever."""

from ava.domain.data_sets import ExternalSource
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Outcome
from ava.kube.resources import PODS
from ava.operator import controller, volume_errors
from tests.platform.hollow import stamp
from tests.unit.ava.operator.fake_cluster import in_room, now, settings, start

BASE = settings(image_wait=1)
SHARED = BASE.model_copy(update={"pods": BASE.pods.model_copy(update={"mount": "/mnt/cephfs"})})
WORDS = 'MountVolume.SetUp failed for volume "pvc-1" : mount command failed, status: Failure, reason: '


def began(db, kind="rbd"):
    """Return a run with such a data set, whose folders are made."""
    source = {"rbd": {"image": "i", "snapshot": "v1"}, "nfs": {"server": "nfs.test", "path": "/a"}}[kind]
    one = db.data_sets.create("ann", "big", {"kind": kind, **source}, now()).id
    db.external_sources.record(ExternalSource(one, "pvc-1"))
    for folder in ((FolderKind.USER, "ann"), (FolderKind.GROUP, "vision")):
        db.folders.record(Folder(*folder, now()))
    return start(db, command=["sleep"], data_sets=[{"name": "big"}])


async def fails(room, run, text):
    """Have the pod's node say that it cannot mount."""
    await room.until(lambda: room.pods(run) and room.pods(run)[0]["spec"].get("nodeName"))
    meta = room.pods(run)[0]["metadata"]
    await room.client.patch(
        PODS, meta["name"], {"status": {"startTime": stamp()}}, meta["namespace"], sub="status"
    )
    for second, reply in enumerate((WORDS + text, "timeout expired waiting for volumes to attach/mount")):
        event = {
            "metadata": {"name": f"e{second}", "namespace": meta["namespace"]},
            "involvedObject": {"uid": meta["uid"]},
            "reason": "FailedMount",
            "message": reply,
            "lastTimestamp": f"2026-11-24T10:00:0{second}Z",
        }
        await room.api.put("events", event)


async def wakes(room, run):
    """Have the node act again, which looks at a pod when that changes."""
    room.nodes.deaf = set()
    meta = room.pods(run)[0]["metadata"]
    await room.client.patch(PODS, meta["name"], {"metadata": {"labels": {"x": "y"}}}, meta["namespace"])


def test_why_a_volume_is_not_mounted_is_reported_and_ends_the_run_when_it_lasts(db, monkeypatch):
    monkeypatch.setattr(volume_errors, "PATIENCE", 0.0)
    monkeypatch.setattr(controller, "MOUNTING", 0.1)

    async def test(room):
        room.nodes.deaf = set(room.nodes.names)
        run = began(db)
        await fails(room, run, "rbd: error opening image pvc-1")
        await room.until(
            lambda: [p.message for p in db.pods.list([run.id])[run.id]] == ["rbd: error opening image pvc-1"]
        )
        await room.until(lambda: room.phases(run) == ["Failed"])
        await wakes(room, run)
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.FAILED
        assert "cannot mount one of its volumes (rbd: error opening image pvc-1)" in room.run(run).reason

    in_room(db, test, config=SHARED)


def test_a_pod_that_was_late_and_starts_is_well(db, monkeypatch):
    monkeypatch.setattr(volume_errors, "PATIENCE", 0.0)
    monkeypatch.setattr(controller, "MOUNTING", 0.1)
    patient = SHARED.model_copy(update={"times": SHARED.times.model_copy(update={"image_wait": 60})})

    async def test(room):
        room.nodes.deaf = set(room.nodes.names)
        run = began(db, "nfs")
        await fails(room, run, "mount.nfs: Connection timed out")
        await room.until(lambda: [p.reason for p in db.pods.list([run.id])[run.id]] == ["FailedMount"])
        await wakes(room, run)
        await room.until(
            lambda: [(p.phase, p.reason) for p in db.pods.list([run.id])[run.id]] == [("Running", "")]
        )

    in_room(db, test, config=patient)
