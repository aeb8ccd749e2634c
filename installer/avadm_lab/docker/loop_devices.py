"""Loop devices: the nodes' disks are sparse files of the lab's folder behind /dev/loopN of this machine."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from avadm_lab.process import Proc, run_checked

_SPINS = "/sys/block/loop%d/queue/rotational"
_MAJOR = 7  # Linux, Documentation/admin-guide/devices.txt
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True)
class Loop:
    """An attached loop device: its number, the file behind it, and whether that file is gone."""

    number: int
    backing: str
    deleted: bool

    @property
    def path(self) -> str:
        """The device's path on this machine."""
        return f"/dev/loop{self.number}"


def number(device: str) -> int | None:
    """Return N of /dev/loopN, None for anything else."""
    match = re.fullmatch(r"/dev/loop(\d+)", device)
    return int(match[1]) if match else None


class Loops:
    """Attaches and detaches loop devices; touches only those whose file lies in the lab's folder."""

    def __init__(self, proc: Proc, disks: Path) -> None:
        self.proc = proc
        self.disks = disks

    def all(self) -> list[Loop]:
        """Return every attached loop device of this machine."""
        done = run_checked(
            self.proc.run(["losetup", "--list", "--json", "--output", "NAME,BACK-FILE"]),
            "Listing the loop devices",
        )
        found = []
        for entry in json.loads(done.stdout or '{"loopdevices": []}')["loopdevices"]:
            backing = entry.get("back-file") or ""
            n = number(entry["name"])
            if n is not None:
                found.append(Loop(n, backing.removesuffix(_DELETED), backing.endswith(_DELETED)))
        return found

    def ours(self) -> list[Loop]:
        """Return the attached devices whose file lies (or lay) in the lab's folder."""
        return [loop for loop in self.all() if Path(loop.backing).parent == self.disks]

    def create(self, name: str, size: int) -> Path:
        """Have the sparse file of ``size`` bytes; an existing one is left as it is."""
        self.disks.mkdir(parents=True, exist_ok=True)
        path = self.disks / f"{name}.img"
        if not path.exists():
            with path.open("wb") as f:
                f.truncate(size)
        return path

    def attach(self, backing: Path, wanted: int | None = None) -> int:
        """Attach a file, at number ``wanted`` if that is free, else at any; return the number it has then.

        A file that is attached already stays where it is unless ``wanted`` is another, free number.
        """
        attached = self.all()
        at = next((loop for loop in attached if loop.backing == str(backing) and not loop.deleted), None)
        used = {loop.number for loop in attached}
        if at and (wanted in (None, at.number) or wanted in used):
            return at.number
        if at:
            self.detach(at)
        if wanted is not None and wanted not in used and self._setup(wanted, backing):
            return wanted
        for _ in range(5):  # someone else may take the free number between the two commands
            found = run_checked(
                self.proc.run(["losetup", "--find"]), "Finding a free loop device"
            ).stdout.strip()
            free = number(found)
            if free is not None and self._setup(free, backing):
                return free
        run_checked(self.proc.run(["losetup", "--find", "--show", str(backing)]), "Attaching a loop device")
        return self.attach(backing)

    def detach(self, loop: Loop) -> None:
        """Detach a device (the kernel does it when the last user lets go)."""
        run_checked(self.proc.run(["losetup", "--detach", loop.path]), f"Detaching {loop.path}")

    def discard(self, name: str) -> bool:
        """Detach a disk and remove its file; return whether there was one."""
        path = self.disks / f"{name}.img"
        for loop in self.ours():
            if loop.backing == str(path):
                self.detach(loop)
        there = path.exists()
        path.unlink(missing_ok=True)
        return there

    def drop(self, *, stale_only: bool = False) -> int:
        """Detach ours (or only those whose file was deleted); return how many."""
        gone = [loop for loop in self.ours() if loop.deleted or not stale_only]
        for loop in gone:
            self.detach(loop)
        return len(gone)

    def _setup(self, n: int, backing: Path) -> bool:
        device = Path(f"/dev/loop{n}")
        if not device.exists():  # no udev here to make it
            self.proc.run(["mknod", "-m", "660", str(device), "b", str(_MAJOR), str(n)])
        done = self.proc.run(["losetup", str(device), str(backing)]).ok
        # Storage nodes have SSDs; a loop device takes after this machine's disk, and ceph holds recovery back on what spins.
        self.proc.run(["sh", "-c", f"[ ! -w {_SPINS % n} ] || echo 0 > {_SPINS % n}"])
        return done
