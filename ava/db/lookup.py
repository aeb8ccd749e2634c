"""Finding what a request names, by name or id, with the lock that the transaction needs.

Locks are taken in one order everywhere, so that transactions wait for each other but never in a circle: user,
definition, run, group, queue.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from ava.db.tables import definitions, groups, runs, users
from ava.domain.names import is_id, person_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import missing


class Lock(Enum):
    """How a row is held until the transaction ends. SQLite's transactions that write are one at a time anyway."""

    NONE = None
    KEY_SHARE = "key-share"
    """It is not removed meanwhile; others may use it at the same time."""
    SHARE = "share"
    """It is not changed meanwhile."""
    NO_KEY_UPDATE = "no-key-update"
    """No other transaction changes it meanwhile; others may refer to it."""
    UPDATE = "update"
    """No other transaction changes it or begins to refer to it meanwhile."""


def user_row(connection: Connection, name: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return a user's row by name or id; 404."""
    if is_id(name):
        row = row_of(connection, select(users).where(users.c.id == name), lock)
    else:
        row = (
            None if _no_person(name) else row_of(connection, select(users).where(users.c.name == name), lock)
        )
    if row is None:
        raise missing(Phrase("user {name}", name=shown(name)), "user")
    return row


def group_row(connection: Connection, name: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return the row of a group that is not deleted, by name or id; 404."""
    kept = select(groups).where(groups.c.deleted.is_(None))
    if is_id(name):
        row = row_of(connection, kept.where(groups.c.id == name), lock)
    else:
        row = None if _no_person(name) else row_of(connection, kept.where(groups.c.name == name), lock)
    if row is None:
        raise missing(Phrase("group {name}", name=shown(name)), "group")
    return row


def definition_row(connection: Connection, id: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return a definition's row, also of a deleted one; 404."""
    row = row_of(connection, select(definitions).where(definitions.c.id == id), lock) if is_id(id) else None
    if row is None:
        raise missing(Phrase("definition {id}", id=shown(id)), "definition")
    return row


def run_row(connection: Connection, id: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return a run's row; 404."""
    row = row_of(connection, select(runs).where(runs.c.id == id), lock) if is_id(id) else None
    if row is None:
        raise missing(Phrase("run {id}", id=shown(id)), "run")
    return row


def user_name(connection: Connection, name: str | None) -> str | None:
    """Return the name of a user by name or id; None where none is given."""
    return None if name is None else str(user_row(connection, name).name)


def group_name(connection: Connection, name: str | None) -> str | None:
    """Return the name of a group by name or id, also of a deleted one, whose charges stay; None where none is given."""
    if name is None or not is_id(name):
        return name
    found = connection.execute(select(groups.c.name).where(groups.c.id == name)).scalar()
    if found is None:
        raise missing(Phrase("group {name}", name=name), "group")
    return str(found)


def _no_person(name: str) -> bool:
    return bool(person_problems(name, ""))


def row_of(connection: Connection, query: Select[Any], lock: Lock) -> Row[Any] | None:
    """Return the one row of a query, held as ``lock`` says; None for none."""
    if lock is Lock.KEY_SHARE:
        query = query.with_for_update(read=True, key_share=True)
    elif lock is Lock.SHARE:
        query = query.with_for_update(read=True)
    elif lock is Lock.NO_KEY_UPDATE:
        query = query.with_for_update(key_share=True)
    elif lock is Lock.UPDATE:
        query = query.with_for_update()
    return connection.execute(query).one_or_none()
