"""The probes against real loop devices, where there are some: root and losetup are needed, else skipped."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from ansible.module_utils import avadm_devices, avadm_disks
from ansible.module_utils.avadm_machine import Machine

from tests.unit.plugins import sparse

MIB = 1 << 20
SIZE = 384 * MIB  # mkfs.xfs wants 300


def run(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def loop(image):
    rc, out, err = run(["losetup", "-f", "--show", str(image)])
    if rc != 0:
        pytest.skip(f"no loop device: {err.strip()}")
    return out.strip()


@pytest.fixture
def disk(tmp_path):
    if os.geteuid() != 0 or not shutil.which("losetup"):
        pytest.skip("needs root and losetup")
    image = tmp_path / "image"
    with image.open("wb") as stream:
        stream.truncate(SIZE)
    device = loop(image)
    yield device, image
    run(["losetup", "-d", device])


class Links(Machine):
    """The real machine, with one by-id link more."""

    def __init__(self, device):
        super().__init__(run)
        self.device = device

    def links(self):
        return {self.device: self.number(self.device)}

    def processes(self):
        # Where the tests run, root may not be allowed to look at every process; a refusal on nodes.
        return [p for p in super().processes() if os.access(f"/proc/{p}/fd", os.R_OK) and readable(p)]


def readable(process):
    try:
        Path(f"/proc/{process}/ns/mnt").readlink()
    except OSError:
        return False
    return True


def reasons(device, min_bytes=MIB):
    machine = Links(device)
    (found,) = avadm_devices.survey(machine, [{"by_id": device}])
    avadm_disks.probe(machine, found, min_bytes, writable=True)
    return found.reasons


def digest(image):
    with image.open("rb") as stream:
        return sparse.digest(stream)


def tool(name):
    if not shutil.which(name):
        pytest.skip(f"no {name}")
    return name


def write(image, offset, data):
    with image.open("r+b") as stream:
        stream.seek(offset)
        stream.write(data)


CONTENTS = {
    "ext4": lambda d, i: run([tool("mkfs.ext4"), "-q", d]),
    "xfs": lambda d, i: run([tool("mkfs.xfs"), "-q", d]),
    "btrfs": lambda d, i: run([tool("mkfs.btrfs"), "-q", d]),
    "swap": lambda d, i: run([tool("mkswap"), d]),
    "GPT": lambda d, i: run([tool("sgdisk"), "-n", "1:0:0", d]),
    "MBR": lambda d, i: write(i, 510, b"\x55\xaa"),
    "LVM": lambda d, i: write(i, 512, b"LABELONE" + bytes(8) + b"\x20" + bytes(7) + b"LVM2 001"),
    "LUKS": lambda d, i: write(i, 0, b"LUKS\xba\xbe\x00\x02"),
    "ceph": lambda d, i: write(i, 0, b"bluestore block device\n"),
    "middle": lambda d, i: write(i, SIZE // 2, os.urandom(2 * MIB * 4)),
    "end": lambda d, i: write(i, SIZE - 1, b"x"),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_content_is_refused_and_unchanged(disk, content):
    device, image = disk
    CONTENTS[content](device, image)
    run(["blockdev", "--flushbufs", device])
    before = digest(image)
    assert reasons(device) != []
    assert digest(image) == before


def test_blank_is_accepted_and_unchanged(disk):
    device, image = disk
    before = digest(image)
    assert reasons(device) == []
    assert digest(image) == before


def test_too_small(disk):
    assert reasons(disk[0], min_bytes=SIZE + 1) == ["is too small: 384 MiB, wanted 384 MiB"]


def test_read_only(disk):
    device = disk[0]
    assert run(["blockdev", "--setro", device])[0] == 0
    try:
        assert reasons(device) != []
    finally:
        run(["blockdev", "--setrw", device])  # a loop device keeps it after it is detached


def test_mounted_in_a_namespace_that_is_not_seen(disk, monkeypatch):
    device = disk[0]
    run([tool("mkfs.ext4"), "-q", device])
    # A mount in another namespace; its process is hidden, as another container's would be.
    script = f"mount {device} /mnt && echo mounted && exec sleep 30"
    holder = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline().strip() != "mounted":
            pytest.skip("no mount namespaces here")
        monkeypatch.setattr(Links, "processes", lambda self: [])
        assert any("kernel refuses an exclusive open" in r for r in reasons(device))
    finally:
        holder.kill()
        holder.wait()
        time.sleep(0.1)


def test_held_open_by_a_process(disk):
    device = disk[0]
    with Path(device).open("rb") as stream:
        holder = subprocess.Popen(["sleep", "30"], stdin=stream)
    try:
        assert any("is held open by sleep" in r for r in reasons(device))
    finally:
        holder.kill()
        holder.wait()


def test_a_device_node_under_another_name_is_the_same_device(disk, tmp_path):
    device = disk[0]
    node = tmp_path / "sdb"
    os.mknod(node, 0o600 | 0o060000, Path(device).stat().st_rdev)
    run([tool("mkswap"), device])
    assert reasons(str(node)) != []
