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
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

_Key = tuple[int, int]
"""Device and inode of a folder."""

SMALL = 2000
"""So many names are read and sorted at each page."""
KEPT = 8
"""Lists of large folders that are kept; the one that was made first goes first."""
FRESH = 60.0
"""Seconds for which who turns pages sees one list, although the folder changes under it."""
BUILDERS = 2
"""Large folders that are read at a time."""
MOST = 20_000_000
"""Names of one folder at most; of more the rest is not shown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; ``size`` and ``changed`` (seconds since 1970) are a file's. A link is shown and never followed."""

    name: bytes
    kind: str
    size: int = 0
    changed: float = 0.0


@dataclass(frozen=True, slots=True)
class _List:
    """A sorted list in a file; ``changed`` is the folder's time of change when it was read."""

    path: Path
    changed: int
    made: float

    def names(self, after: bytes | None, count: int) -> list[bytes]:
        """Return names after one. A connection of its own for each page: no reader waits for another."""
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as data:
            rows = data.execute(
                "SELECT name FROM names WHERE name > ? ORDER BY name LIMIT ?", (after or b"", count)
            )
            return [bytes(row[0]) for row in rows]


class Listing:
    """Sorted lists of folders, each in a file of its own.

    At most BUILDERS lists are made at a time, one of a folder and one for a user. A request that would make a further one is
    refused at once: it must not hold a thread that uploads and small folders need.

    Args:
        scratch: folder of this process' own; what an earlier one left there is of no use and goes.
    """

    def __init__(self, scratch: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._scratch = scratch
        for former in scratch.glob("listing*.db*"):
            former.unlink(missing_ok=True)
        self._clock, self._guard = clock, threading.Lock()
        self._lists: dict[_Key, _List] = {}
        self._building: dict[_Key, str] = {}
        self._serial = itertools.count()

    def page(
        self, at: int, after: bytes | None, limit: int, user: str = ""
    ) -> tuple[list[Entry], bytes | None]:
        """Return entries of a folder (a descriptor) after a name, and after which name the next page begins; None: the last.

        OSError where it cannot be read; ApiError 503 while other large folders are read.
        """
        found = self._names(at, after, limit + 1, user)
        entries = [entry for name in found[:limit] if (entry := _entry(at, name)) is not None]
        return entries, found[limit - 1] if len(found) > limit else None

    def _names(self, at: int, after: bytes | None, count: int, user: str) -> list[bytes]:
        about = os.fstat(at)
        known = self._known(about, turning=after is not None)
        if known is None:
            with os.scandir(at) as entries:
                names: Iterator[bytes] = (os.fsencode(e.name) for e in itertools.islice(entries, MOST))
                first = list(itertools.islice(names, SMALL + 1))
                if len(first) <= SMALL:
                    return sorted(n for n in first if after is None or n > after)[:count]
                known = self._make(about, itertools.chain(first, names), user)
        try:
            return known.names(after, count)
        except sqlite3.OperationalError:
            # It went meanwhile, for others were made.
            raise _busy() from None

    def _known(self, about: os.stat_result, *, turning: bool) -> _List | None:
        found = self._lists.get((about.st_dev, about.st_ino))
        if found is None:
            return None
        same = found.changed == about.st_mtime_ns
        return found if same or (turning and self._clock() - found.made < FRESH) else None

    def _make(self, about: os.stat_result, names: Iterator[bytes], user: str) -> _List:
        key = about.st_dev, about.st_ino
        with self._guard:
            mine = user and user in self._building.values()
            if mine or key in self._building or len(self._building) >= BUILDERS:
                raise _busy()
            self._building[key] = user
        made = _List(self._scratch / f"listing-{next(self._serial)}.db", about.st_mtime_ns, self._clock())
        try:
            _write(made.path, names)
            with self._guard:
                old = [self._lists.pop(key)] if key in self._lists else []
                self._lists[key] = made
                old += [self._lists.pop(next(iter(self._lists))) for _ in range(len(self._lists) - KEPT)]
        except BaseException:
            made.path.unlink(missing_ok=True)
            raise
        finally:
            with self._guard:
                del self._building[key]
        for one in old:
            one.path.unlink(missing_ok=True)
        return made


def _write(path: Path, names: Iterator[bytes]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as data:
        data.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE names (name BLOB PRIMARY KEY) WITHOUT ROWID; BEGIN"
        )
        data.executemany("INSERT OR IGNORE INTO names (name) VALUES (?)", ((name,) for name in names))
        data.execute("COMMIT")


def _busy() -> ApiError:
    return ApiError(
        503,
        Problem(
            "folders-busy",
            Phrase("Other large folders are being read at the moment."),
            "path",
            Phrase("more than {most} large folders, or more than one of one user", most=BUILDERS),
            Phrase("fewer"),
            Phrase("Try again in a minute; smaller folders are shown at once."),
        ),
    )


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
