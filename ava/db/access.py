"""Who may come in: sessions, tokens, keys, and the audit log."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, or_, select

from ava.db import records
from ava.db.base import number_cursor, page, reading, refuse, upsert, writing
from ava.db.lookup import Lock, user_row
from ava.db.tables import audit, keys, secrets, users
from ava.db.types import plain, plain_document
from ava.db.workbenches import WorkbenchStore
from ava.domain.model import Page, User, UserState
from ava.domain.names import is_id, name_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, conflict, missing, taken

SECRETS = "session", "token"
KEYS = "ssh", "deploy"
USED_STEP = timedelta(minutes=1)
"""When a token was used is kept to a minute, so that not each request writes."""
_DIGEST = re.compile("[0-9a-f]{64}")


class AccessStore(WorkbenchStore):
    """Sessions and tokens (their digests alone), users' keys, the audit log."""

    @writing
    def add_secret(
        self,
        connection: Connection,
        user: str,
        kind: str,
        digest: str,
        now: datetime,
        *,
        until: datetime | None,
        label: str = "",
        scopes: Collection[str] | None = None,
    ) -> str:
        """Keep the SHA-256 of a session or token of a person who may log in; return its id. No scopes: everything."""
        refuse([*_kind_problems(kind, SECRETS), *_digest_problems(digest)])
        person = user_row(connection, user, Lock.SHARE)
        if person.state != UserState.ACTIVE:
            raise conflict(
                "user-not-active",
                Phrase("{person} may not log in.", person=person.name),
                "user",
                Phrase("Ask an administrator."),
                found=person.state,
            )
        row = {"id": self.new_id("s", now), "user_name": person.name, "kind": kind, "digest": digest}
        row |= {"label": label, "created": now, "until": until}
        row["scopes"] = None if scopes is None else ",".join(sorted(scopes))
        return str(connection.execute(secrets.insert().values(row).returning(secrets.c.id)).scalar_one())

    def authenticate(self, kind: str, digest: str, now: datetime) -> User | None:
        """Return whose session or token it is, if it has not ended and the person may log in."""
        found = self.bearer(kind, digest, now)
        return None if found is None else found[0]

    def bearer(self, kind: str, digest: str, now: datetime) -> tuple[User, frozenset[str] | None] | None:
        """Return whose session or token it is and its scopes (None: everything), as ``who`` does."""
        if _kind_problems(kind, SECRETS) or _digest_problems(digest):
            return None
        found = self._who(kind, digest, now)
        if found is None:
            return None
        person, id, used, scopes = found
        if used is None or now - used >= USED_STEP:
            self._used(id, now)
        return person, scopes

    @reading
    def _who(
        self, connection: Connection, kind: str, digest: str, now: datetime
    ) -> tuple[User, str, datetime | None, frozenset[str] | None] | None:
        valid = and_(
            secrets.c.kind == kind,
            secrets.c.digest == digest,
            or_(secrets.c.until.is_(None), secrets.c.until > now),
            users.c.state == UserState.ACTIVE,
        )
        query = select(users, secrets.c.id.label("secret"), secrets.c.used, secrets.c.scopes)
        query = query.join(secrets, secrets.c.user_name == users.c.name).where(valid)
        row = connection.execute(query).one_or_none()
        if row is None:
            return None
        scopes = None if row.scopes is None else frozenset(row.scopes.split(","))
        return records.user(row), row.secret, row.used, scopes

    @writing
    def _used(self, connection: Connection, id: str, now: datetime) -> None:
        connection.execute(secrets.update().where(secrets.c.id == id).values(used=now))

    @reading
    def secrets(self, connection: Connection, user: str, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return id, label, created, until, used, scopes of a user's sessions or tokens, oldest first."""
        name = user_row(connection, user).name
        columns = [secrets.c[c] for c in ("id", "label", "created", "until", "used", "scopes")]
        query = select(*columns).where(secrets.c.user_name == name, secrets.c.kind == kind)
        return [dict(row._mapping) for row in connection.execute(query.order_by(secrets.c.id))]

    @writing
    def end_secret(self, connection: Connection, user: str, id: str) -> None:
        """End a session or token of a user; 404 for another's."""
        name = user_row(connection, user).name
        which = and_(secrets.c.id == id, secrets.c.user_name == name)
        if not is_id(id) or connection.execute(secrets.delete().where(which)).rowcount == 0:
            raise missing(f"session or token {shown(id)} of {name}", "id")

    @writing
    def put_key(
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
        refuse([*_kind_problems(kind, KEYS), *name_problems(name, "name")])
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
            self.notify_workbenches(connection, person.name, now)

    @reading
    def keys(self, connection: Connection, user: str, kind: str) -> Mapping[str, str]:
        """Return a user's keys by name."""
        name = user_row(connection, user).name
        query = select(keys.c.name, keys.c.value).where(keys.c.user_name == name, keys.c.kind == kind)
        return {row.name: row.value for row in connection.execute(query.order_by(keys.c.name))}

    @writing
    def delete_key(self, connection: Connection, user: str, kind: str, name: str) -> None:
        """Remove a key of a user; 404."""
        person = user_row(connection, user).name
        which = and_(keys.c.user_name == person, keys.c.kind == kind, keys.c.name == name)
        if name_problems(name, "") or connection.execute(keys.delete().where(which)).rowcount == 0:
            raise missing(Phrase("key {name} of {person}", name=shown(name), person=person), "name")
        if kind == "ssh":
            self.notify_workbenches(connection, person, datetime.now(UTC))

    @writing
    def write_audit(
        self,
        connection: Connection,
        now: datetime,
        *,
        who: str,
        action: str,
        object: str,
        outcome: str,
        address: str,
        detail: Mapping[str, Any],
    ) -> None:
        """Write a line of the audit log; what strangers sent is cut, for a line must never be missing."""
        line = {
            "at": now,
            "who": plain(who, 254),
            "action": plain(action, 200),
            "object": plain(object, 500),
            "outcome": plain(outcome, 200),
            "address": plain(address, 200),
            "detail": plain_document(detail),
        }
        connection.execute(audit.insert().values(line))

    @reading
    def audit(
        self,
        connection: Connection,
        *,
        who: str | None = None,
        object: str | None = None,
        action: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Mapping[str, Any]]:
        """Return lines of the audit log, newest first."""
        query = select(audit)
        if who is not None:
            query = query.where(audit.c.who == who)
        if object is not None:
            query = query.where(audit.c.object == object)
        if action is not None:
            query = query.where(audit.c.action == action)
        return page(connection, query, audit.c.id, _line, after=number_cursor(after), limit=limit)


def _line(row: Row[Any]) -> Mapping[str, Any]:
    return {column.name: getattr(row, column.name) for column in audit.c}


def _kind_problems(kind: str, known: Sequence[str]) -> Sequence[Problem]:
    if kind in known:
        return []
    return [
        Problem(
            "kind-unknown",
            Phrase("There is no such kind."),
            "kind",
            shown(kind),
            Phrase("one of {names}", names=", ".join(known)),
        )
    ]


def _digest_problems(digest: str) -> Sequence[Problem]:
    if _DIGEST.fullmatch(digest):
        return []
    # The value itself is not repeated: somebody may have sent the secret.
    return [
        Problem(
            "digest-invalid", Phrase("This is no SHA-256."), "digest", "", Phrase("64 hexadecimal digits")
        )
    ]
