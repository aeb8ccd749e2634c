"""Makes one folder as it has to be, says what it found, and removes what is to go. Each may be killed anywhere."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from ava.db.database import Database
from ava.domain.data_sets import FolderSpec
from ava.domain.folders import DATA, TOP, Folder, FolderKind
from ava.files import safe_fs
from ava.files.filesystem import Filesystem

log = logging.getLogger(__name__)
TRASH = ".ava-trash"
UPLOADS = "uploads"
"""Beside a data set's own folder, within its limit: files that have not come whole."""


class FolderReconciler:
    """Makes and removes folders.

    Args:
        home_quota: bytes of a home whose user has no limit of their own; None: none.
        owner: uid and gid of the outer folders; root but in tests.
    """

    def __init__(
        self,
        db: Database,
        ground: Filesystem,
        now: Callable[[], datetime],
        *,
        home_quota: int | None = None,
        owner: tuple[int, int] = (0, 0),
    ) -> None:
        self.db, self.ground, self.now = db, ground, now
        self.home_quota, self.owner = home_quota, owner

    def look(self, kind: FolderKind, name: str) -> Folder | None:
        """Bring one folder to what it has to be now; None where it is not wanted."""
        wanted = self.db.folders.get_spec(kind, name)
        if wanted is None:
            return None
        return self.remove(wanted) if wanted.gone else self.make(wanted)

    def make(self, wanted: FolderSpec) -> Folder:
        """Make a folder, set its limit, measure it, and tell the database; what is in the way is reported as its trouble."""
        trouble, made, used, files, limit = "", None, None, None, self._limit(wanted)
        in_force: int | None = None
        uid, gid = self._inner(wanted)
        mode = {FolderKind.USER: 0o700, FolderKind.GROUP: 0o2770, FolderKind.DATA_SET: 0o755}[wanted.kind]
        with self.ground.root() as root:
            try:
                safe_fs.keep(root, TOP[wanted.kind], 0o711, *self.owner)
                with safe_fs.folder(TOP[wanted.kind], root) as top:
                    safe_fs.keep(top, wanted.name, 0o711, *self.owner)
                    with safe_fs.folder(wanted.name, top) as outer:
                        trouble = self._limited(outer, limit)
                        in_force = safe_fs.quota(outer)
                        safe_fs.keep(outer, DATA, mode, uid, gid)
                        if wanted.kind is FolderKind.DATA_SET:
                            safe_fs.keep(outer, UPLOADS, 0o700, *self.owner)
                        made = self.now()
                        used, files = safe_fs.used(outer)
            except safe_fs.WrongOwner as foreign:
                trouble = f"{TOP[wanted.kind]}/{wanted.name}: {foreign}; nothing was changed. Move it away"
            except OSError as error:
                # Of this folder alone: the file system as a whole has just been opened.
                trouble = f"{TOP[wanted.kind]}/{wanted.name}: {error.strerror}"
        if trouble:
            log.warning("%s %s: %s", wanted.kind.value, wanted.name, trouble)
        seen = Folder(wanted.kind, wanted.name, made, in_force, used, files, self.now(), trouble)
        self.db.folders.record(seen)
        return seen

    def remove(self, wanted: FolderSpec) -> Folder:
        """Remove a deleted data set's folder: at once from its place, then what is in it."""
        with self.ground.root() as root:
            safe_fs.keep(root, TRASH, 0o700, *self.owner)
            with safe_fs.folder(TRASH, root) as trash:
                with suppress(FileNotFoundError), safe_fs.folder(TOP[wanted.kind], root) as top:
                    with safe_fs.folder(wanted.name, top) as outer:
                        if os.fstat(outer).st_uid != self.owner[0]:
                            raise safe_fs.WrongOwner(f"{wanted.name} is not of our making")
                    with suppress(FileNotFoundError):
                        os.rename(wanted.name, wanted.name, src_dir_fd=top, dst_dir_fd=trash)
                with suppress(FileNotFoundError):
                    with safe_fs.folder(wanted.name, trash) as gone:
                        safe_fs.empty(gone)
                    os.rmdir(wanted.name, dir_fd=trash)
        self.db.data_sets.set_removed(wanted.name, self.now())
        return Folder(wanted.kind, wanted.name)

    def _limited(self, outer: int, limit: int | None) -> str:
        try:
            safe_fs.set_quota(outer, limit)
        except PermissionError:
            return (
                "its limit cannot be set: this node mounted cephfs before its key might do that; restart"
                " avadm-cephfs on the node (or the node) when nothing there uses it"
            )
        return ""

    def _limit(self, wanted: FolderSpec) -> int | None:
        limit = wanted.quota
        return self.home_quota if limit is None and wanted.kind is FolderKind.USER else limit

    def _inner(self, wanted: FolderSpec) -> tuple[int, int]:
        own = self.owner
        return (own[0] if wanted.uid is None else wanted.uid, own[1] if wanted.gid is None else wanted.gid)
