"""The one way the lab runs commands of this machine: argument lists, never a shell; tests fake it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from avadm.errors import AvadmError

NOT_FOUND = 127
TIMED_OUT = 124


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """A finished command: its arguments, exit status (127: no such program, 124: time-out) and output."""

    argv: tuple[str, ...]
    rc: int
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self) -> bool:
        """Whether it exited 0."""
        return self.rc == 0

    @property
    def why(self) -> str:
        """The last lines of what it reported, for an error message."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return " / ".join(line.strip() for line in lines[-3:]) or f"exit status {self.rc}"


class Proc(Protocol):
    """Runs commands on this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> CompletedCommand:
        """Run a command to its end (``timeout`` in seconds); never raises for what the command does."""

    def spawn(self, argv: Sequence[str], log: Path) -> int:
        """Start a daemon in a session of its own, output to ``log``; return its pid."""


class LocalProc:
    """Proc on the machine itself."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> CompletedCommand:
        """See Proc.run."""
        try:
            done = subprocess.run(  # argument list, no shell
                list(argv),
                input=stdin,
                capture_output=True,
                timeout=timeout,
                env={**os.environ, "LC_ALL": "C", **(env or {})},
                check=False,
            )
        except FileNotFoundError:
            return CompletedCommand(tuple(argv), NOT_FOUND, "", f"{argv[0]}: no such program")
        except subprocess.TimeoutExpired:
            return CompletedCommand(tuple(argv), TIMED_OUT, "", f"no end after {timeout:.0f} s")
        text = (done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
        return CompletedCommand(tuple(argv), done.returncode, *text)

    def spawn(self, argv: Sequence[str], log: Path) -> int:
        """See Proc.spawn."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            child = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd="/"
            )
        child.returncode = 0  # a daemon outlives us: no "still running" warning when the object goes
        return child.pid


def run_checked(
    done: CompletedCommand, doing: str, remedy: str = "", where: str = "this machine"
) -> CompletedCommand:
    """Return ``done`` where it exited 0, else raise AvadmError saying what was being done."""
    if done.ok:
        return done
    raise AvadmError.of(
        "lab-command",
        where=where,
        found=f"{' '.join(done.argv[:3])}: {done.why}",
        wanted="exit status 0",
        doing=doing,
        remedy=remedy or "See the message; `avadm lab down` and `avadm lab up` make the lab afresh.",
    )


def start_ticks(pid: int) -> int | None:
    """Return when a process started (ticks since boot, proc(5) field 22); None where it is gone or dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def program(pid: int) -> str:
    """Return the name of a process's program ("" where it is gone)."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def listens(pid: int, port: int) -> bool:
    """Whether a process has a listening TCP socket (IPv4) of this port, as proc(5) and its open files tell."""
    files = set()
    try:
        entries = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                files.add(str(file.readlink()))
    except OSError:
        return False
    # local_address is ADDRESS:PORT in hexadecimal, st 0A is LISTEN, the tenth field the inode.
    sockets = {f"socket:[{e[9]}]" for e in entries if e[1].endswith(f":{port:04X}") and e[3] == "0A"}
    return not sockets.isdisjoint(files)


def end(pid: int, ticks: int, *, grace: float = 10.0) -> bool:
    """End the process that has this pid *and* start time: SIGTERM, after ``grace`` seconds SIGKILL.

    Returns whether such a process was there; a pid that was given out again is left alone.
    """
    if start_ticks(pid) != ticks:
        return False
    for sig, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            return True
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if start_ticks(pid) != ticks:
                return True
            time.sleep(0.05)
    return True
