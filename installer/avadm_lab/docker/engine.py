"""The container engine: used where one answers, else started; ended only if we started it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from avadm.errors import AvadmError
from avadm_lab.docker.client import Docker
from avadm_lab.driver import Reporter, step
from avadm_lab.process import Proc, end, program, start_ticks

_PATIENCE_S = 60.0


@dataclass
class Engine:
    """The machine's docker daemon.

    Attributes:
        proc: runs commands.
        store: folder for the daemon's log and its pid; outlives any one lab.
        pidfile: the daemon's own pid file.
        containerd_pidfile: that of the containerd which it starts.
        arguments: further arguments for dockerd.
    """

    proc: Proc
    store: Path
    pidfile: Path = Path("/var/run/docker.pid")
    containerd_pidfile: Path = Path("/var/run/docker/containerd/containerd.pid")
    arguments: tuple[str, ...] = ()

    def alive(self) -> bool:
        """Whether a daemon answers."""
        return Docker(self.proc).alive()

    def ensure(self, report: Reporter) -> bool:
        """Have a daemon that answers; return whether we had to start it.

        Raises:
            AvadmError: it does not come up; the finding has the last line of its log.
        """
        if self.alive():
            return False
        if self._booting():
            return False
        self._drop_stale(report)
        log = self.store / "dockerd.log"
        with step(report, "starting the container engine"):
            pid = self.proc.spawn(["dockerd", *self.arguments], log)
            self.store.mkdir(parents=True, exist_ok=True)
            self._record.write_text(json.dumps({"pid": pid, "ticks": start_ticks(pid)}) + "\n")
            limit = time.monotonic() + _PATIENCE_S
            while time.monotonic() < limit and start_ticks(pid) is not None:
                if self.alive():
                    return True
                time.sleep(0.25)
        raise AvadmError.of("lab-engine", where=str(log), found=_last(log), wanted="dockerd answering")

    def stop(self, report: Reporter) -> bool:
        """End the daemon if it is the one that we started and no container runs in it; return whether it was."""
        try:
            record = json.loads(self._record.read_text())
            pid, ticks = int(record["pid"]), int(record["ticks"])
        except (OSError, ValueError, TypeError, KeyError):
            return False
        if start_ticks(pid) == ticks:
            listed = Docker(self.proc).run("ps", "--format", "{{.Names}}")
            running = listed.stdout.split()
            if running or not listed.ok:
                why = f"running in it: {', '.join(running)}" if running else listed.why
                report.note(f"the container engine stays; {why}")
                return False
        self._record.unlink(missing_ok=True)
        return end(pid, ticks, grace=30.0)

    @property
    def _record(self) -> Path:
        return self.store / "dockerd.json"

    def _booting(self) -> bool:
        """Whether a living dockerd, ours or not, came to answer while we waited."""
        pid = _read_pid(self.pidfile)
        limit = time.monotonic() + _PATIENCE_S
        while _lives(pid, "dockerd") and time.monotonic() < limit:
            if self.alive():
                return True
            time.sleep(0.25)
        return False

    def _drop_stale(self, report: Reporter) -> None:
        """Remove pid files whose process is gone, a zombie, or another program.

        dockerd refuses to start beside its own one. It takes a zombie (a killed one that process 1
        has not reaped) for a living containerd, starts none and waits for it in vain.
        """
        for file, name in ((self.pidfile, "dockerd"), (self.containerd_pidfile, "containerd")):
            if file.exists() and not _lives(_read_pid(file), name):
                report.note(f"removed {file}, left behind by a {name} that is gone")
                file.unlink(missing_ok=True)


def _read_pid(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _lives(pid: int | None, name: str) -> bool:
    return pid is not None and start_ticks(pid) is not None and program(pid) == name


def _last(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:400] if lines else "nothing in its log"
