"""What a node says of its mount."""

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
