"""Who this controller is, for locks that outlive a process: machine, process, and whether that process lives."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Mapping
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


def machine() -> str:
    """Return what tells this machine and its boot from others: a hash of name, machine id and boot id."""
    parts = [socket.gethostname()]
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        try:
            parts.append(Path(path).read_text(encoding="utf-8").strip())
        except OSError:
            parts.append("")
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
    """Return whether a lock is of a process of this machine that does not live any more."""
    if holder.get("machine") != machine() or not isinstance(holder.get("pid"), int):
        return False
    found = started(holder["pid"])
    return found is None or found != holder.get("started")


def named(holder: Mapping[str, Any]) -> str:
    """Return a holder for people: verb, process, machine, user, since when and its last sign of life."""
    age = holder.get("beat_age")
    beat = "unknown" if age is None else f"{age:.0f} s ago"
    return (
        f"`avadm {holder.get('verb', '?')}`, process {holder.get('pid', '?')} on {holder.get('host', '?')}, user "
        f"{holder.get('user', '?')}, since {holder.get('since', '?')}, last heartbeat {beat}"
    )
