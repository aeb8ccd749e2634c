"""Ceph's own attributes of folders, which no other file system has, stood in for in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ava.files import safe_fs
from ava.files.folders import FolderReconciler

ME = os.getuid(), os.getgid()


def stand_in(put: Callable[[Any, str, Any], None]) -> dict[int, int | None]:
    """Put stand-ins in place by something like ``monkeypatch.setattr``; return limits by the inode of their folder."""
    kept: dict[int, int | None] = {}
    put(safe_fs, "quota", lambda at: kept.get(os.fstat(at).st_ino))
    put(safe_fs, "set_quota", lambda at, limit: kept.update({os.fstat(at).st_ino: limit}))
    put(safe_fs, "used", _used)
    return kept


def _used(at: int) -> tuple[int, int]:
    sizes = [
        os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        for _, _, names, folder in os.fwalk(".", dir_fd=at)
        for name in names
    ]
    return sum(sizes), len(sizes)


def own(put: Callable[[Any, str, Any], None]) -> None:
    """Where one is not root, give folders to no one but oneself."""
    if ME[0]:
        put(os, "fchown", lambda *_: None)
        put(FolderReconciler, "_inner", lambda self, wanted: ME)
