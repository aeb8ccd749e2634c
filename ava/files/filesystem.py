"""Whether what is mounted is the file system that the database's folders lie on. Nothing is ever done on another one.

A mount that is gone shows an empty folder of the node's own disk. So the kind of the file system is looked at, and a
number that the database knows has to lie on it; it is written once, to a file system that has none of our folders, and
"nothing is there" is never taken for "make it again".
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ava.db.database import Database
from ava.domain.folders import TOP
from ava.files import safe_fs

MARK = ".ava-storage"
KINDS = frozenset({"ceph", "fuse.ceph-fuse", "fuse.ceph"})
"""Kinds of file systems as /proc/self/mountinfo has them."""


class WrongFilesystem(Exception):
    """What is mounted is not the file system that the folders lie on; the text says what was found and what to do."""


def kind_of(path: Path) -> str:
    """Return the kind of the file system that is mounted at a path; "" where none is."""
    found = ""
    for line in (
        Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    ):
        left, dash, right = line.partition(" - ")
        if not dash:
            continue
        # A later line is mounted over an earlier one.
        if left.split()[4].encode("latin-1", "replace").decode("unicode_escape") == str(path):
            found = right.split()[0]
    return found


class Filesystem:
    """The mounted file system.

    Args:
        path: where this process has it.
        db: the database.
        kind: tells the kind of a mounted file system.
        gid: group of folders and files that no group has; root's but in tests.
    """

    def __init__(self, path: Path, db: Database, kind: Callable[[Path], str] = kind_of, gid: int = 0) -> None:
        self.path, self.db, self._kind, self.gid = path, db, kind, gid

    @contextmanager
    def root(self) -> Iterator[int]:
        """Give the root of the file system, after it was looked at; NotOurs where it is another one.

        What is done goes through this descriptor, so that a mount that goes away meanwhile leaves errors and no files.
        """
        kind = self._kind(self.path)
        if kind not in KINDS:
            raise WrongFilesystem(
                f"{self.path} is no mount of cephfs (found: {kind or 'nothing mounted'}): nothing is done until it is"
            )
        with safe_fs.folder(str(self.path)) as root:
            self._check(root)
            yield root

    def found(self) -> None:
        """Mark a new file system as this database's; on one that is marked nothing changes. NotOurs as above."""
        kind = self._kind(self.path)
        if kind not in KINDS:
            raise WrongFilesystem(f"{self.path} is no mount of cephfs (found: {kind or 'nothing mounted'})")
        with safe_fs.folder(str(self.path)) as root:
            if self.db.folders.file_system() is None:
                there = [top for top in TOP.values() if _holds(root, top)]
                if there:
                    raise WrongFilesystem(
                        f"{self.path} has folders ({', '.join(there)}) that this database knows nothing of: another database's,"
                        " or its own from before it was lost; restore the database, or move the folders away"
                    )
                # The mark first: killed after it, the next one finds no folders and marks again.
                number = secrets.randbits(62)
                _write(root, number)
                self.db.folders.set_file_system(number)
            self._check(root)

    def _check(self, root: int) -> None:
        wanted, found = self.db.folders.file_system(), _read(root)
        if wanted is None or wanted != found:
            raise WrongFilesystem(
                f"{self.path} is another file system than the one of the database: {MARK} says {found}, the database {wanted};"
                " nothing is done on it. Mount the right one, or restore the database that belongs to this one"
            )


def _holds(root: int, name: str) -> bool:
    """Return whether something is there that could be lost; an empty folder may be anybody's (the cache's, say)."""
    try:
        with safe_fs.folder(name, root) as there:
            return bool(safe_fs.names(there, 1))
    except FileNotFoundError:
        return False
    except OSError:  # no folder, or none that may be read
        return True


def _read(root: int) -> int | None:
    try:
        with os.fdopen(os.open(MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root), "rb") as file:
            return int(json.loads(file.read(1000))["file-system"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _write(root: int, number: int) -> None:
    new = f"{MARK}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o600, dir_fd=root), "wb") as file:
        file.write(json.dumps({"file-system": number}).encode())
        file.flush()
        os.fsync(file.fileno())
    os.rename(new, MARK, src_dir_fd=root, dst_dir_fd=root)
