"""What a node says of its mount."""

import json

import pytest

from tests.unit.volumes.volume_fakes import load

node = load("node")
ROOT = "22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw\n"
FUSE = "90 22 0:77 / /mnt/cephfs rw,nosuid shared:9 - fuse.ceph-fuse ceph-fuse rw,user_id=0\n"
DISK = "91 22 8:1 / /mnt/cephfs rw shared:9 - ext4 /dev/sda1 rw\n"
INSIDE = "92 90 0:78 / /mnt/cephfs/inside rw - ext4 /dev/sdb1 rw\n"


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (ROOT, None),
        (ROOT + FUSE, "fuse.ceph-fuse"),
        (ROOT + FUSE + INSIDE, "fuse.ceph-fuse"),
        (ROOT + FUSE + DISK, "ext4"),
        (ROOT + INSIDE, None),
    ],
)
def test_the_upmost_mount_at_the_very_path_counts(table, found):
    assert node.kind("/mnt/cephfs", table) == found


def test_only_cephs_kinds_are_mounts_of_ours():
    assert "fuse.ceph-fuse" in node.KINDS
    assert not {None, "ext4", "xfs", "overlay", "tmpfs"} & set(node.KINDS)


UID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def files(folder, **mib):
    for name, size in mib.items():
        with (folder / name).open("wb") as file:
            file.truncate(size << 20)


def usage(folder, mib=100):
    return json.loads(node.local_volumes(str(folder), mib << 20))


def test_a_node_tells_the_room_it_has_and_the_volumes_that_are_whole(tmp_path):
    files(tmp_path, **{f"pvc-{UID}.img": 30, f"making-pvc-{UID}.img": 10, "notes": 5})
    assert usage(tmp_path) == {"free": 60, "volumes": {f"pvc-{UID}": 30}}


def test_a_disk_that_is_fuller_than_promised_counts_in_whole_gib(tmp_path, monkeypatch):
    class Disk:
        f_bavail, f_frsize = 1600, 1 << 20

    monkeypatch.setattr(node.os, "statvfs", lambda folder: Disk)
    assert usage(tmp_path, 10 << 10)["free"] == 1024


def test_a_folder_that_cannot_be_read_has_no_room(tmp_path):
    assert usage(tmp_path / "gone") == {"free": 0, "volumes": {}}


def test_what_is_known_is_reported_again_seldom_and_what_was_not_taken_at_once():
    report, now, takes = [], [0.0], [False, True, True, True]
    one = node.ChangeReporter(lambda what: report.append(what) or takes.pop(0), lambda: now[0])
    for what in ("a", "a", "a", "b"):
        one.see(what)
    assert report == ["a", "a", "b"]
    now[0] += node.REPEAT_S + 1
    one.see("b")
    assert report == ["a", "a", "b", "b"]
