"""A run's pods come when its folders are made, with its owner's groups of that moment and its data sets."""

import asyncio

from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Outcome
from tests.unit.ava.operator.fake_cluster import in_room, now, settings, start

BASE = settings()
SHARED = BASE.model_copy(update={"pods": BASE.pods.model_copy(update={"mount": "/mnt/cephfs"})})


def made(db, *folders):
    for kind, name in folders:
        db.folders.record(Folder(kind, name, now()))


def paths(pod):
    return {v["hostPath"]["path"] for v in pod["spec"]["volumes"] if "hostPath" in v and v["name"] != "init"}


def test_pods_come_when_the_folders_are_made_and_mount_the_runs_data_sets(db):
    async def test(room):
        one = db.data_sets.create("ann", "digits", {"kind": "folder"}, now())
        run = start(db, command=["sleep"], data_sets=[{"name": "digits"}])
        made(db, (FolderKind.USER, "ann"), (FolderKind.GROUP, "vision"))
        await asyncio.sleep(1.5)
        assert room.pods(run) == [], "the data set's folder is not made"
        (why,) = room.run(run).waits_for
        assert why["code"] == "pods-not-made" and "is not made yet" in why["what"]
        made(db, (FolderKind.DATA_SET, one.id))
        await room.until(lambda: room.phases(run) == ["Running"])
        assert room.run(run).waits_for == ()
        assert paths(room.pods(run)[0]) == {
            "/mnt/cephfs/users/ann/data",
            "/mnt/cephfs/groups/vision/data",
            f"/mnt/cephfs/datasets/{one.id}/data",
        }

    in_room(db, test, config=SHARED)


def test_who_has_left_a_group_gets_no_further_pod_with_its_folder(db):
    async def test(room):
        made(db, (FolderKind.USER, "ann"), (FolderKind.GROUP, "vision"))
        first = start(db, name="first", command=["sleep"])
        await room.until(lambda: room.phases(first) == ["Running"])
        second = start(db, name="second", command=["sleep"], admit=False)
        db.groups.remove_member("vision", "ann", now())
        assert [p.code for p in db.runs.admit(second.id, now())] == ["not-a-member"]
        assert "/mnt/cephfs/groups/vision/data" in paths(room.pods(first)[0])
        assert room.pods(second) == []

    in_room(db, test, config=SHARED)


def test_a_data_set_that_this_site_cannot_give_ends_the_run_with_the_reason(db):
    async def test(room):
        db.data_sets.create("ann", "faces", {"kind": "cache", "path": "s3/faces"}, now())
        made(db, (FolderKind.USER, "ann"), (FolderKind.GROUP, "vision"))
        run = start(db, command=["sleep"], data_sets=[{"name": "faces"}])
        await room.until(lambda: room.finished(run))
        assert room.run(run).outcome is Outcome.FAILED
        assert "Alluxio" in room.run(run).reason

    in_room(db, test, config=SHARED)
