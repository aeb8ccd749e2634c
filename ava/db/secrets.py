"""Sessions and tokens, of which digests alone are kept, and nonces."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, and_, or_, select

from ava.db import records
from ava.db.base import (
    Base,
    new_id,
    reading,
    refuse,
    upsert,
    writing,
)
from ava.db.lookup import Lock, user_row
from ava.db.tables import secrets, spent, users
from ava.domain.model import User, UserState
from ava.domain.names import is_id, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, conflict, missing

SECRETS = "session", "token"
USED_STEP = timedelta(minutes=1)
"""When a token was used is kept to a minute, so that not each request writes."""
_DIGEST = re.compile("[0-9a-f]{64}")


class Secrets(Base):
    """Sessions and tokens of users, and what is good for once."""

    @writing
    def create(
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
        refuse([*kind_problems(kind, SECRETS), *_digest_problems(digest)])
        person = user_row(connection, user, Lock.SHARE)
        if person.state != UserState.ACTIVE:
            raise conflict(
                "user-not-active",
                Phrase("{person} may not log in.", person=person.name),
                "user",
                Phrase("Ask an administrator."),
                found=person.state,
            )
        row = {"id": new_id("s", now), "user_name": person.name, "kind": kind, "digest": digest}
        row |= {"label": label, "created": now, "until": until}
        row["scopes"] = None if scopes is None else ",".join(sorted(scopes))
        return str(connection.execute(secrets.insert().values(row).returning(secrets.c.id)).scalar_one())

    def authenticate(self, kind: str, digest: str, now: datetime) -> User | None:
        """Return whose session or token it is, if it has not ended and the person may log in."""
        found = self.bearer(kind, digest, now)
        return None if found is None else found[0]

    def bearer(self, kind: str, digest: str, now: datetime) -> tuple[User, frozenset[str] | None] | None:
        """Return whose session or token it is and its scopes; None: everything."""
        if kind_problems(kind, SECRETS) or _digest_problems(digest):
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
    def list(self, connection: Connection, user: str, kind: str) -> Sequence[Mapping[str, Any]]:
        """Return id, label, created, until, used, scopes of a user's sessions or tokens, oldest first."""
        name = user_row(connection, user).name
        columns = [secrets.c[c] for c in ("id", "label", "created", "until", "used", "scopes")]
        query = select(*columns).where(secrets.c.user_name == name, secrets.c.kind == kind)
        return [dict(row._mapping) for row in connection.execute(query.order_by(secrets.c.id))]

    @writing
    def delete(self, connection: Connection, user: str, id: str) -> None:
        """End a session or token of a user; 404 for another's."""
        name = user_row(connection, user).name
        which = and_(secrets.c.id == id, secrets.c.user_name == name)
        if not is_id(id) or connection.execute(secrets.delete().where(which)).rowcount == 0:
            raise missing(f"session or token {shown(id)} of {name}", "id")

    @writing
    def use_nonce(self, connection: Connection, digest: str, until: datetime) -> bool:
        """Use up what is good for once; False where it was used before. It is remembered until that time."""
        put = upsert(connection, spent).values(digest=digest, until=until)
        # Not every driver reports the number of rows of an INSERT; what was written is.
        put = put.on_conflict_do_nothing(index_elements=["digest"])
        return connection.execute(put.returning(spent.c.digest)).one_or_none() is not None


def kind_problems(kind: str, known: Sequence[str]) -> Sequence[Problem]:
    """Return the refusal of an unknown kind."""
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
