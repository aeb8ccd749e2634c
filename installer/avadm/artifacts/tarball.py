"""Tar archives that have the same bytes each time: sorted, owned by root, without times."""

from __future__ import annotations

import tarfile
from pathlib import Path


def pack(folder: Path, target: Path) -> None:
    """Pack all that a folder holds, names relative to it."""
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, str(path.relative_to(folder)), recursive=False, filter=_plain)


def header(name: str, size: int) -> tarfile.TarInfo:
    """Return the entry of a plain file of so many bytes."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info
