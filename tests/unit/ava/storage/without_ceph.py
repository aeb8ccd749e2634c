"""Ceph's own attributes of folders, which no other file system has, stood in for in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ava.storage import tree
from ava.storage.making import Maker

ME = os.getuid(), os.getgid()


def stand_in(put: Callable[[Any, str, Any], None]) -> dict[int, int | None]:
    """Put stand-ins in place by something like ``monkeypatch.setattr``; return limits by the inode of their folder."""
    kept: dict[int, int | None] = {}
    put(tree, "quota", lambda at: kept.get(os.fstat(at).st_ino))
    put(tree, "set_quota", lambda at, limit: kept.update({os.fstat(at).st_ino: limit}))
    put(tree, "used", _used)
    return kept


def _used(at: int) -> tuple[int, int]:
    sizes = [
        os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        for _, _, names, folder in os.fwalk(".", dir_fd=at)
        for name in names
    ]
    return sum(sizes), len(sizes)


def own(put: Callable[[Any, str, Any], None]) -> None:
    """Where one is not root, give folders to nobody but oneself."""
    if ME[0]:
        put(os, "fchown", lambda *_: None)
        put(Maker, "_inner", lambda self, wanted: ME)
