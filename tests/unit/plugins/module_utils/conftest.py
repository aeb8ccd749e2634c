"""A machine whose disks are files: fake sysfs, /proc and by-id links in a temporary folder."""

import errno
import os
from pathlib import Path

import avadm_ceph_osd
import pytest
from ansible.module_utils import avadm_osd_maker
from ansible.module_utils.avadm_node.probes.disks import blank, naming, ownership
from ansible.module_utils.avadm_node.probes.disks.machine import Machine
from fake_osd import APPROVED, OURS, Ceph

MIB = 1 << 20
SIZE = 8 * MIB


class FakeMachine(Machine):
    """Answers as the kernel would for disks that are files."""

    def __init__(self, root: Path):
        super().__init__(self.answer, str(root))
        self.answers = {"wipefs": (0, "", ""), "blkid": (2, "", "")}
        self.numbers = {}
        self.busy = set()
        self.protected = set()
        self.calls = []

    def answer(self, argv, data=None):
        self.calls.append((argv, data))
        return self.answers[argv[0]]

    def number(self, path):
        Path(path).stat()
        return self.numbers.get(os.path.realpath(path))

    def read_only(self, handle):
        return str(Path(f"/proc/self/fd/{handle}").readlink()) in self.protected

    def open(self, path, flags):
        if flags & os.O_EXCL and path in self.busy:
            raise OSError(errno.EBUSY, "busy")
        return os.open(path, flags & ~os.O_EXCL)

    def write(self, path, text):
        target = Path(self.path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def add_disk(self, name="sdb", number="8:16", link="scsi-DISK_S1", serial=None):
        """Add a blank disk; return its node."""
        node = Path(self.path("/dev/" + name))
        node.parent.mkdir(parents=True, exist_ok=True)
        with node.open("wb") as stream:
            stream.truncate(SIZE)
        self.numbers[str(node)] = number
        base = f"/sys/dev/block/{number}"
        for folder in ("holders", "slaves", "queue"):
            Path(self.path(f"{base}/{folder}")).mkdir(parents=True)
        for file, text in (("ro", "0"), ("size", str(SIZE // 512)), ("dev", number)):
            self.write(f"{base}/{file}", text)
        self.write(f"/sys/class/block/{name}/dev", number)
        if serial:
            self.write(f"{base}/device/serial", serial)
        if link:
            folder = Path(self.path("/dev/disk/by-id"))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / link).symlink_to(f"../../{name}")
        return node


@pytest.fixture
def machine(tmp_path):
    fake = FakeMachine(tmp_path)
    fake.write("/proc/swaps", "Filename Type Size Used Priority\n")
    fake.write("/proc/1/mountinfo", "1 0 254:1 / / rw - ext4 /dev/vda1 rw\n")
    fake.write("/proc/1/comm", "init")
    Path(fake.path("/proc/1/ns")).mkdir()
    Path(fake.path("/proc/1/ns/mnt")).symlink_to("mnt:[1]")
    return fake


@pytest.fixture
def reasons():
    """Return a function: the reasons against one approval, after all probes."""

    def look(machine, **approved):
        (device,) = naming.survey(machine, [approved or {"by_id": "/dev/disk/by-id/scsi-DISK_S1"}])
        blank.probe(machine, device, min_bytes=MIB)
        return device.reasons

    return look


@pytest.fixture
def node(machine, tmp_path, monkeypatch, request):
    """Return the cluster, the maker, a function that applies the module, and the folder of its state."""
    state = tmp_path / "state"
    monkeypatch.setattr(avadm_osd_maker, "BOOTSTRAP", str(state / "bootstrap"))
    monkeypatch.setattr(avadm_osd_maker, "DATA", str(state / "osd-%d"))
    monkeypatch.setattr(avadm_osd_maker, "DROPIN", str(state / "dropin"))
    monkeypatch.setattr(avadm_osd_maker, "ceph_owns", lambda device, folder: None)
    ceph = Ceph(machine)
    ticks = iter(range(10**6))
    maker = avadm_osd_maker.Maker(
        machine, ceph, ownership.Journal(str(state / "journal")), MIB, lambda: next(ticks), lambda s: None
    )
    given = {"backend": getattr(request, "param", "raw"), "bootstrap_key": "BK", "fsid": OURS, "timeout": 5}

    def apply(**more):
        entries = maker.journal.entries()
        (device,) = naming.survey(machine, [APPROVED])
        judged = [(device, *ownership.judge(machine, device, OURS, entries, MIB))]
        return avadm_ceph_osd.ensure(maker, {**given, **more}, judged, entries, lambda: 0)

    return ceph, maker, apply, state
