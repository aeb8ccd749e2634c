"""One run at a time per site on this controller; the lock says who holds it and since when."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from avadm.catalogue import finding
from avadm.errors import DAMAGE, AvadmError
from avadm.findings import Finding
from avadm.state.lock.owner import owner

PATIENCE = 0.3
"""Seconds for which a taken lock is tried again: anyone who only looks (`holder`) holds it for an instant."""


@contextmanager
def lock_controller(folder: Path, verb: str) -> Iterator[None]:
    """Hold the site's lock on this controller; it ends with the process, so that a killed run leaves none behind.

    Args:
        folder: the site's state folder (site_state.state_folder).
        verb: what runs, for the message to a refused run.

    Raises:
        AvadmError: another run holds it, or the folder cannot be written.
    """
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise AvadmError.of("lock-unusable", where=str(path), found=error.strerror or str(error)) from error
    try:
        if not _take(handle):
            raise AvadmError(_refusal(path))
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(owner(verb)).encode(), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def holder(folder: Path) -> dict[str, Any] | None:
    """Return who holds the lock (pid, host, user, verb, since), or None where it is free."""
    path = folder / "lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(path)
    finally:
        os.close(handle)
    return None


def _take(handle: int) -> bool:
    """Take the lock and return whether it could be had."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        else:
            return True


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except DAMAGE:
        return {}
    return data if isinstance(data, dict) else {}


def _refusal(path: Path) -> Finding:
    who = _read(path)
    return finding(
        "site-locked",
        where=str(path),
        found=f"process {who.get('pid', '?')} on {who.get('host', '?')}, "
        f"user {who.get('user', '?')}, since {who.get('since', '?')}",
        wanted="one run at a time",
        value=who.get("verb", "?"),
    )
