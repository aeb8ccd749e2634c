"""One apt cache for all nodes: apt-cacher-ng as our own daemon, on the lab's gateway address only.

Each daemon needs a cache folder of its own. A slot is one such folder under the caches (``apt/1``,
``apt/2`` …): a lab takes the first slot whose daemon is dead or its own, so one lab at a time always finds
the same warm cache, and two labs at once do not disturb each other.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from avadm.errors import AvadmError
from avadm_lab.process import Proc, end, listens, start_ticks

PORT = 3142
_PROGRAM = "/usr/sbin/apt-cacher-ng"
_SLOTS = 8
_CONF = """# Written by avadm lab.
CacheDir: {slot}/cache
LogDir: {slot}/log
SocketPath: {slot}/run/socket
PidFile: {slot}/run/pid
Port: {port}
BindAddress: {address}
ForeGround: 1
ReportPage: acng-report.html
VerboseLog: 0
ExThreshold: 30
"""


def answers(address: IPv4Address, pid: int, port: int = PORT, timeout: float = 1.0) -> bool:
    """Whether the process accepts connections there, not another one that has the port."""
    try:
        with socket.create_connection((str(address), port), timeout=timeout):
            return listens(pid, port)
    except OSError:
        return False


class Cacher:
    """The apt cache of one lab."""

    def __init__(self, proc: Proc, store: Path, lab: str, address: IPv4Address) -> None:
        self.proc = proc
        self.store = store
        self.lab = lab
        self.address = address

    @property
    def url(self) -> str:
        """What the nodes' package manager is given as proxy."""
        return f"http://{self.address}:{PORT}"

    def running(self) -> bool:
        """Whether our daemon lives and answers."""
        ours = [slot for slot, owner, alive in self._slots() if owner == self.lab and alive]
        return any(answers(self.address, self._read(slot)["pid"]) for slot in ours)

    def ensure(self) -> bool:
        """Have the daemon; return whether it had to be started. AvadmError where it does not come up."""
        if self.running():
            return False
        self.stop()
        slot = next((s for s, _, alive in self._slots() if not alive), None)
        if slot is None:
            raise AvadmError.of("lab-apt-cache-slots", where=str(self.store), SLOTS=_SLOTS)
        for sub in ("cache", "log", "run", "conf"):
            (slot / sub).mkdir(parents=True, exist_ok=True)
        conf = _CONF.format(slot=slot, port=PORT, address=self.address)
        (slot / "conf" / "acng.conf").write_text(conf)
        log = slot / "log" / "daemon.log"
        pid = self.proc.spawn([_PROGRAM, "-c", str(slot / "conf")], log)
        self._owner(slot).write_text(
            json.dumps({"lab": self.lab, "pid": pid, "ticks": start_ticks(pid)}) + "\n"
        )
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            if answers(self.address, pid):
                return True
            if start_ticks(pid) is None:
                break
            time.sleep(0.1)
        reply = log.read_text(errors="replace").strip().splitlines()[-1:]
        self.stop()  # it lives on where it could not have the port
        raise AvadmError.of(
            "lab-apt-cache",
            where=str(log),
            found=" ".join(reply) or "no answer",
            wanted=f"apt-cacher-ng listening on {self.address}:{PORT}",
            PORT=PORT,
        )

    def stop(self) -> bool:
        """End our daemon; return whether one ran. The cache stays."""
        ended = False
        for slot, owner, _ in self._slots():
            if owner != self.lab:
                continue
            data = self._read(slot)
            if "pid" in data and "ticks" in data:
                ended |= end(data["pid"], data["ticks"])
            self._owner(slot).unlink(missing_ok=True)
            shutil.rmtree(slot / "run", ignore_errors=True)
        return ended

    def _owner(self, slot: Path) -> Path:
        return slot / "owner.json"

    def _read(self, slot: Path) -> dict[str, Any]:
        try:
            return {k: v for k, v in json.loads(self._owner(slot).read_text()).items() if v is not None}
        except (OSError, ValueError, AttributeError):
            return {}

    def _slots(self) -> list[tuple[Path, str, bool]]:
        """Return each slot's folder, the lab that last started a daemon there, and whether that one lives."""
        found = []
        for i in range(1, _SLOTS + 1):
            slot = self.store / str(i)
            data = self._read(slot)
            alive = "pid" in data and "ticks" in data and start_ticks(data["pid"]) == data["ticks"]
            found.append((slot, str(data.get("lab", "")), alive))
        return found
