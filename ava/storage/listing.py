"""Pages of a folder's entries, sorted by name, also where it holds millions.

No file system gives sorted pages: each would take a look at all names. So the names of a large folder are read once into
a sorted list of this process' own (SQLite, in its scratch folder), from which pages come by keyset; it is made again when
the folder has changed since. What each entry is like (size, time) is asked for those of a page alone.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SMALL = 2000
"""So many names are read and sorted at each page."""
KEPT = 8
"""Lists of large folders that are kept; the one that was made first goes first."""
FRESH = 60.0
"""Seconds for which who turns pages sees one list, although the folder changes under it."""
MOST = 20_000_000
"""Names of one folder at most; of more the rest is not shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; ``size`` and ``changed`` (seconds since 1970) are a file's. A link is shown and never followed."""

    name: bytes
    kind: str
    size: int = 0
    changed: float = 0.0


class Listing:
    """Sorted lists of folders.

    Args:
        scratch: folder of this process' own; what an earlier one left there is of no use and goes.
    """

    def __init__(self, scratch: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = scratch / "listing.db"
        self._path.unlink(missing_ok=True)
        self._clock, self._lock = clock, threading.Lock()
        self._data = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        self._data.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE lists (id INTEGER PRIMARY KEY, device INTEGER, inode INTEGER, changed INTEGER, made REAL);"
            "CREATE TABLE names (list INTEGER, name BLOB, PRIMARY KEY (list, name)) WITHOUT ROWID"
        )

    def page(self, at: int, after: bytes | None, limit: int) -> tuple[list[Entry], bytes | None]:
        """Return entries of a folder (a descriptor) after a name, and after which name the next page begins; None: the last.

        OSError where it cannot be read.
        """
        found = self._names(at, after, limit + 1)
        entries = [entry for name in found[:limit] if (entry := _entry(at, name)) is not None]
        return entries, found[limit - 1] if len(found) > limit else None

    def _names(self, at: int, after: bytes | None, count: int) -> list[bytes]:
        about = os.fstat(at)
        with self._lock:
            known = self._known(about, turning=after is not None)
            if known is None:
                with os.scandir(at) as entries:
                    names: Iterator[bytes] = (os.fsencode(e.name) for e in itertools.islice(entries, MOST))
                    first = list(itertools.islice(names, SMALL + 1))
                    if len(first) <= SMALL:
                        return sorted(n for n in first if after is None or n > after)[:count]
                    known = self._make(about, itertools.chain(first, names))
            rows = self._data.execute(
                "SELECT name FROM names WHERE list = ? AND name > ? ORDER BY name LIMIT ?",
                (known, after or b"", count),
            )
            return [bytes(row[0]) for row in rows]

    def _known(self, about: os.stat_result, *, turning: bool) -> int | None:
        row = self._data.execute(
            "SELECT id, changed, made FROM lists WHERE device = ? AND inode = ? ORDER BY id DESC LIMIT 1",
            (about.st_dev, about.st_ino),
        ).fetchone()
        if row is None:
            return None
        same = row[1] == about.st_mtime_ns
        return int(row[0]) if same or (turning and self._clock() - row[2] < FRESH) else None

    def _make(self, about: os.stat_result, names: Iterator[bytes]) -> int:
        key = about.st_dev, about.st_ino
        old = [
            row[0] for row in self._data.execute("SELECT id FROM lists WHERE device = ? AND inode = ?", key)
        ]
        others = self._data.execute(
            "SELECT id FROM lists WHERE NOT (device = ? AND inode = ?) ORDER BY id", key
        )
        old += [row[0] for row in others.fetchall()][: -(KEPT - 1)]
        self._data.execute("BEGIN")
        try:
            for number in old:
                self._data.execute("DELETE FROM names WHERE list = ?", (number,))
                self._data.execute("DELETE FROM lists WHERE id = ?", (number,))
            put = "INSERT INTO lists (device, inode, changed, made) VALUES (?, ?, ?, ?)"
            made = self._data.execute(put, (*key, about.st_mtime_ns, self._clock())).lastrowid
            rows = ((made, name) for name in names)
            self._data.executemany("INSERT OR IGNORE INTO names (list, name) VALUES (?, ?)", rows)
        finally:
            self._data.execute("COMMIT")
        return int(made or 0)


def _entry(at: int, name: bytes) -> Entry | None:
    """Return what an entry is like; None for one that is gone."""
    try:
        about = os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None
    for is_kind, kind in ((stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link")):
        if is_kind(about.st_mode):
            size = about.st_size if kind == "file" else 0
            return Entry(name, kind, size, about.st_mtime)
    return Entry(name, "other")
