"""Who people are at the site's login service."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select

from ava.db import records
from ava.db.base import Base, reading, refuse, upsert, writing
from ava.db.lookup import Lock, user_row
from ava.db.tables import identities, users
from ava.domain.model import User
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, conflict

ISSUER, SUBJECT = 500, 255
"""Characters; a subject is no longer (OpenID Connect Core, 2)."""


class Identities(Base):
    """Identities."""

    @reading
    def find(self, connection: Connection, issuer: str, subject: str) -> User | None:
        """Return whose identity at a login service it is; None for none."""
        query = select(users).join(identities, identities.c.user_name == users.c.name)
        row = connection.execute(
            query.where(identities.c.issuer == issuer, identities.c.subject == subject)
        ).one_or_none()
        return None if row is None else records.user(row)

    @writing
    def claim(self, connection: Connection, user: str, issuer: str, subject: str, now: datetime) -> None:
        """Keep that an account is that of a name at an issuer, of which it has one; 409 where either is another's already.

        An account that was used before identities were kept is that of its own name.
        """
        row = user_row(connection, user, Lock.NO_KEY_UPDATE)
        mine = select(identities.c.subject).where(
            identities.c.user_name == row.name, identities.c.issuer == issuer
        )
        known = list(connection.execute(mine).scalars())
        if subject in known:
            return
        if known or (row.entered is not None and subject != row.name):
            what = Phrase("The account {name} is another person's of the directory.", name=row.name)
            remedy = Phrase("Ask an administrator for an account with another name.")
            raise conflict(
                "name-of-another",
                what,
                "name",
                remedy,
                found=Phrase("another person's name"),
                wanted=Phrase("its own"),
            )
        identify(connection, row.name, (issuer, subject), now)


def identify(connection: Connection, name: str, identity: tuple[str, str], now: datetime) -> None:
    """Write whose identity (issuer, subject) it is, in the transaction that makes the account; 409 where it is another's."""
    issuer, subject = identity
    if not (0 < len(issuer) <= ISSUER and 0 < len(subject) <= SUBJECT and (issuer + subject).isprintable()):
        wanted = f"at most {ISSUER} and {SUBJECT} printable characters"
        refuse(
            [
                Problem(
                    "identity-invalid",
                    Phrase("The identity is not valid."),
                    "identity",
                    Phrase("another text"),
                    wanted,
                )
            ]
        )
    row = {"issuer": issuer, "subject": subject, "user_name": name, "created": now}
    put = upsert(connection, identities).values(row).on_conflict_do_nothing()
    if connection.execute(put.returning(identities.c.subject)).one_or_none() is None:
        problem = Problem(
            "identity-taken",
            Phrase("The identity belongs to another account."),
            "identity",
            Phrase("taken"),
            Phrase("a new one"),
        )
        refuse([problem], 409)
