"""avadm_private_mounts: a private copy of the host's root is found, an honest mount is not (K1)."""

import avadm_private_mounts as module
import pytest

HOST = (
    "1 0 0:2 / / rw - rootfs rootfs rw\n"
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "90 22 252:0 / /data rw shared:40 - ext4 /dev/rbd0 rw\n"
)
OWN = "500 400 0:99 / / rw - overlay overlay rw\n"
PRIVATE = (
    OWN
    + "501 500 8:1 / /rootfs ro,relatime - ext4 /dev/sda1 rw\n"
    + "502 501 252:0 / /rootfs/data ro - ext4 /dev/rbd0 rw\n"
)
SLAVE = OWN + "501 500 8:1 / /rootfs ro,relatime master:1 - ext4 /dev/sda1 rw\n"
ONE_FILE = OWN + "501 500 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"


@pytest.fixture
def proc(tmp_path):
    def add(pid, comm, mountinfo, space):
        folder = tmp_path / str(pid)
        (folder / "ns").mkdir(parents=True)
        (folder / "comm").write_text(comm + "\n")
        (folder / "mountinfo").write_text(mountinfo)
        (folder / "ns/mnt").symlink_to(f"mnt:[{space}]")

    add(1, "systemd", HOST, 1)
    add.path = str(tmp_path)
    return add


def test_a_private_copy_of_the_root_is_found(proc):
    proc(77, "node_exporter", PRIVATE, 2)
    assert module.scan("node_exporter", proc.path) == (
        1, [{"pid": 77, "command": "node_exporter", "mount_point": "/rootfs"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "mountinfo", "space", "seen"),
    [
        ("node_exporter", SLAVE, 2, 1),
        ("node_exporter", ONE_FILE, 2, 1),
        ("node_exporter", OWN, 2, 1),
        ("node_exporter", HOST, 1, 1),
        ("bash", PRIVATE, 2, 0),
    ],
    ids=["rslave", "one file", "nothing of the host", "a service of the host", "another process"],
)
def test_who_hears_unmounts_is_fine_and_others_are_not_looked_at(proc, command, mountinfo, space, seen):
    proc(77, command, mountinfo, space)
    assert module.scan("node_exporter", proc.path) == (seen, [])


def test_a_process_that_ends_meanwhile_is_passed_over(proc, tmp_path):
    (tmp_path / "78").mkdir()
    assert module.scan("node_exporter", proc.path) == (0, [])
