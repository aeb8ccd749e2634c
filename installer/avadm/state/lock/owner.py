"""Who this controller is, for locks that outlive a process: machine, process, and whether that process lives."""

from __future__ import annotations

import getpass
import hashlib
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def owner(verb: str) -> dict[str, Any]:
    """Return what a lock says of its holder; nothing of it is secret."""
    return {
        "token": secrets.token_hex(8),
        "verb": verb,
        "host": socket.gethostname(),
        "machine": machine(),
        "user": os.environ.get("USER") or str(os.getuid()),
        "pid": os.getpid(),
        "started": started(os.getpid()),
        "since": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }


def user() -> str:
    """Return the login of the person who runs avadm, also through sudo."""
    return os.environ.get("SUDO_USER") or getpass.getuser()


def machine() -> str:
    """Return what tells the processes that this one can see from those of others; "" where that is not known.

    A hash of the machine's name and id, its boot and the pid namespace: a container has its own processes.
    """
    parts = [socket.gethostname()]
    try:
        # A /proc of another pid namespace shows other processes under the same numbers.
        if str(Path("/proc/self").readlink()) != str(os.getpid()):
            return ""
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip())
    except OSError:
        return ""
    with suppress(OSError):
        parts.append(Path("/etc/machine-id").read_text(encoding="utf-8").strip())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def started(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot, None where there is none: pids are used again."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    # The name in brackets may hold blanks; the start time is the 20th field after it.
    return int(text.rpartition(")")[2].split()[19])


def dead(holder: Mapping[str, Any]) -> bool:
    """Return whether a lock is of a process of this machine, boot and pid namespace that surely lives no more."""
    pid, since = holder.get("pid"), holder.get("started")
    here = machine()
    if not here or holder.get("machine") != here or not isinstance(pid, int) or not isinstance(since, int):
        return False
    try:
        # Asked by signal: with hidepid the /proc of another user's process looks as if there were none.
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    found = started(pid)
    return found is not None and found != since


def named(holder: Mapping[str, Any]) -> str:
    """Return a holder for people: verb, process, machine, user, since when and its last heartbeat."""
    age = holder.get("beat_age")
    beat = "unknown" if age is None else f"{age:.0f} s ago"
    return (
        f"`avadm {holder.get('verb', '?')}`, process {holder.get('pid', '?')} on {holder.get('host', '?')}, user "
        f"{holder.get('user', '?')}, since {holder.get('since', '?')}, last heartbeat {beat}"
    )
