"""Who uses a mounted file system, read from a tree like /proc."""

import pytest

from avadm_node.probes.mounts.mount_uses import table, uses

CEPH = "0:77"


def line(device, path, *tags, kind="fuse.ceph-fuse"):
    return f"36 25 {device} / {path} rw,relatime {' '.join(tags)} - {kind} ceph-fuse rw".replace("  ", " ")


@pytest.fixture
def proc(tmp_path):
    def process(pid, comm, space="1", mounts=(), cwd="/", files=()):
        folder = tmp_path / "proc" / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "ns").mkdir()
        (folder / "comm").write_text(f"{comm}\n")
        (folder / "ns" / "mnt").symlink_to(f"mnt:[{space}]")
        (folder / "mountinfo").write_text("\n".join(mounts) + "\n")
        (folder / "cwd").symlink_to(cwd)
        (folder / "root").symlink_to("/")
        for number, path in enumerate(files):
            (folder / "fd" / str(number)).symlink_to(path)

    process(1, "systemd", mounts=[line("8:1", "/", kind="ext4"), line(CEPH, "/mnt/cephfs", "shared:9")])
    process("self", "python3", mounts=[line("8:1", "/", kind="ext4"), line(CEPH, "/mnt/cephfs", "shared:9")])
    return process


def asked(tmp_path):
    return uses({"mount": "/mnt/cephfs"}, str(tmp_path))


def test_a_mount_without_users_has_none(tmp_path, proc):
    # A service with a mount namespace of its own follows when it is unmounted.
    proc(70, "chronyd", "2", [line(CEPH, "/mnt/cephfs", "master:9")])
    assert asked(tmp_path) == {"kind": "fuse.ceph-fuse", "users": []}


def test_nothing_is_mounted(tmp_path, proc):
    assert uses({"mount": "/mnt/other"}, str(tmp_path)) == {"kind": "", "users": []}


def test_processes_with_files_or_their_folder_there_are_users(tmp_path, proc):
    proc(80, "vim", cwd="/mnt/cephfs/data")
    proc(81, "tail", files=["/dev/null", "/mnt/cephfs/log"])
    proc(82, "cat", files=["/mnt/cephfs-other/log"])
    assert asked(tmp_path)["users"] == ["process 80 (vim)", "process 81 (tail)"]


def test_bind_mounts_and_mounts_that_would_stay_are_users(tmp_path, proc):
    proc(90, "pod", "3", [line(CEPH, "/data", "master:9")])
    proc(91, "old", "4", [line(CEPH, "/mnt/cephfs")])
    assert asked(tmp_path)["users"] == [
        "/data is a mount of it, seen by process 90 (pod)",
        "/mnt/cephfs is a mount of it, seen by process 91 (old)",
    ]


def test_spaces_and_broken_lines_of_mountinfo():
    text = line(CEPH, "/mnt/a\\040b", "shared:1") + "\nbroken\n"
    assert table(text) == [(CEPH, "/mnt/a b", True, "fuse.ceph-fuse")]
