"""Folders of the shared file system: how they have to be, and what was last seen of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db.base import Base, reading, upsert, writing
from ava.db.lookup import Lock, user_row
from ava.db.outbox import enqueue
from ava.db.records import record
from ava.db.tables import data_sets, folders, groups, numbers, users
from ava.db.types import plain
from ava.domain.data_sets import FolderSpec
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Topic, UserState

_FILE_SYSTEM = "file-system"
"""Row of the table of numbers with the number of the file system that the folders lie on."""


class Folders(Base):
    """Folders."""

    @writing
    def set_file_system(self, connection: Connection, id: int) -> int:
        """Return the number of the file system that this database's folders lie on; the first one that is reported stays."""
        first = upsert(connection, numbers).values(name=_FILE_SYSTEM, last=id).on_conflict_do_nothing()
        connection.execute(first)
        return int(connection.execute(_known()).scalar_one())

    @reading
    def file_system(self, connection: Connection) -> int | None:
        """Return that number, None where none was reported yet."""
        return connection.execute(_known()).scalar()

    @reading
    def get_spec(self, connection: Connection, kind: FolderKind, name: str) -> FolderSpec | None:
        """Return how one folder has to be; None for one that is not wanted (any more)."""
        row = connection.execute(_WANTED[FolderKind(kind)](name)).one_or_none()
        return None if row is None else _MADE[FolderKind(kind)](row)

    @reading
    def list_specs(self, connection: Connection) -> Sequence[FolderSpec]:
        """Return how all folders have to be."""
        return [_MADE[kind](row) for kind in FolderKind for row in connection.execute(_WANTED[kind](None))]

    @writing
    def record(self, connection: Connection, folder: Folder) -> None:
        """Keep what was seen of a folder; ``made`` stays as it was first reported."""
        row = asdict(folder) | {"trouble": plain(folder.trouble, 1000)}
        put = upsert(connection, folders).values(row)
        new: dict[str, Any] = {
            name: put.excluded[name] for name in row if name not in ("kind", "name", "made")
        }
        # A folder that is in trouble was made all the same, and what was measured before stays.
        for name in ("made", "used", "files"):
            new[name] = func.coalesce(put.excluded[name], folders.c[name])
        new["made"] = func.coalesce(folders.c.made, put.excluded.made)
        connection.execute(put.on_conflict_do_update(index_elements=["kind", "name"], set_=new))

    @reading
    def get(self, connection: Connection, kind: FolderKind, name: str) -> Folder:
        """Return what was last seen of a folder; one that no one has seen has no ``made``."""
        query = select(folders).where(folders.c.kind == FolderKind(kind), folders.c.name == name)
        row = connection.execute(query).one_or_none()
        return Folder(FolderKind(kind), name) if row is None else _folder(row)

    @reading
    def home_quota(self, connection: Connection, user: str) -> int | None:
        """Return the limit of a user's home, bytes; None: the site's default."""
        quota = user_row(connection, user).quota_storage
        return None if quota is None else int(quota)

    @writing
    def set_home_quota(self, connection: Connection, user: str, quota: int | None, now: datetime) -> None:
        """Choose the limit of a user's home."""
        name = user_row(connection, user, Lock.NO_KEY_UPDATE).name
        connection.execute(users.update().where(users.c.name == name).values(quota_storage=quota))
        enqueue(connection, now, "user-changed", name, Topic.STORAGE)


def _known() -> Any:
    return select(numbers.c.last).where(numbers.c.name == _FILE_SYSTEM)


def _folder(row: Row[Any]) -> Folder:
    return record(Folder, row, kind=FolderKind(row.kind))


def _users(name: str | None) -> Any:
    """Who was once let in has a home; who is shut out keeps it."""
    query = select(users).where(users.c.state != UserState.PENDING)
    return query.order_by(users.c.name) if name is None else query.where(users.c.name == name)


def _groups(name: str | None) -> Any:
    query = select(groups).where(groups.c.deleted.is_(None))
    return query.order_by(groups.c.name) if name is None else query.where(groups.c.name == name)


def _data_sets(id: str | None) -> Any:
    query = select(data_sets, users.c.uid).join(users, users.c.name == data_sets.c.owner)
    query = query.where(data_sets.c.removed.is_(None), data_sets.c.source["kind"].as_string() == "folder")
    return query.order_by(data_sets.c.id) if id is None else query.where(data_sets.c.id == id)


def _data_set(row: Row[Any]) -> FolderSpec:
    return FolderSpec(FolderKind.DATA_SET, row.id, row.uid, None, row.quota, row.deleted is not None)


_WANTED = {FolderKind.USER: _users, FolderKind.GROUP: _groups, FolderKind.DATA_SET: _data_sets}
_MADE = {
    FolderKind.USER: lambda row: FolderSpec(FolderKind.USER, row.name, row.uid, None, row.quota_storage),
    FolderKind.GROUP: lambda row: FolderSpec(FolderKind.GROUP, row.name, None, row.gid, row.quota_storage),
    FolderKind.DATA_SET: _data_set,
}
