"""Keys of users: for ssh, and for git."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, and_, select

from ava.db.base import (
    Base,
    reading,
    refuse,
    upsert,
    writing,
)
from ava.db.lookup import Lock, user_row
from ava.db.secrets import kind_problems
from ava.db.tables import keys
from ava.db.workbenches import enqueue_key_changes
from ava.domain.names import name_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import missing, taken

KEYS = "ssh", "deploy"


class Keys(Base):
    """Users' keys."""

    @writing
    def put(
        self,
        connection: Connection,
        user: str,
        kind: str,
        name: str,
        value: str,
        now: datetime,
        *,
        new: bool = False,
    ) -> None:
        """Keep an ssh public key (``ssh``) or the sealed private deploy key (``deploy``) of a user.

        Where it has to be ``new``, one of the same name is refused, 409.
        """
        refuse([*kind_problems(kind, KEYS), *name_problems(name, "name")])
        person = user_row(connection, user, Lock.KEY_SHARE)
        row = {"user_name": person.name, "kind": kind, "name": name, "value": value, "created": now}
        put, unique = upsert(connection, keys).values(row), ["user_name", "kind", "name"]
        over = {"value": put.excluded.value, "created": put.excluded.created}
        put = (
            put.on_conflict_do_nothing(index_elements=unique)
            if new
            else put.on_conflict_do_update(index_elements=unique, set_=over)
        )
        if connection.execute(put.returning(keys.c.name)).first() is None:
            raise taken("key", name, name, remedy=Phrase("Choose another name, or delete that key first."))
        if kind == "ssh":
            enqueue_key_changes(connection, person.name, now)

    @reading
    def list(self, connection: Connection, user: str, kind: str) -> Mapping[str, str]:
        """Return a user's keys by name."""
        name = user_row(connection, user).name
        query = select(keys.c.name, keys.c.value).where(keys.c.user_name == name, keys.c.kind == kind)
        return {row.name: row.value for row in connection.execute(query.order_by(keys.c.name))}

    @writing
    def delete(self, connection: Connection, user: str, kind: str, name: str) -> None:
        """Remove a key of a user; 404."""
        person = user_row(connection, user).name
        which = and_(keys.c.user_name == person, keys.c.kind == kind, keys.c.name == name)
        if name_problems(name, "") or connection.execute(keys.delete().where(which)).rowcount == 0:
            raise missing(Phrase("key {name} of {person}", name=shown(name), person=person), "name")
        if kind == "ssh":
            enqueue_key_changes(connection, person, datetime.now(UTC))
