"""Users."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, or_, select

from ava.db import records
from ava.db.base import Base, new_id, page, reading, refuse, writing
from ava.db.identities import identify
from ava.db.lookup import Lock, group_row, user_row
from ava.db.offboarding import RunStop, stop_runs
from ava.db.outbox import enqueue
from ava.db.tables import (
    charges,
    data_sets,
    definitions,
    folders,
    identities,
    keys,
    members,
    numbers,
    secrets,
    shares,
    users,
)
from ava.domain.model import CONFIRM_EMAIL, Page, Topic, User, UserState
from ava.domain.names import email_problems, person_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import conflict


class Users(Base):
    """Users: who they are, and what they may."""

    @writing
    def create(
        self,
        connection: Connection,
        name: str,
        email: str,
        password: str,
        now: datetime,
        *,
        admin: bool = False,
        state: UserState = UserState.PENDING,
        identity: tuple[str, str] | None = None,
        over_pending: bool = False,
        email_confirmed: bool = False,
    ) -> User:
        """Store a person with the next free uid; ``password`` is a hash. 409 where it is taken.

        ``identity``: issuer and subject of the person at the site's login service; 409 where they are another's.
        ``over_pending``: accounts of this name or address that were registered by the form and never approved go.
        ``email_confirmed``: the address is known to be the person's.
        """
        refuse([*person_problems(name, "name"), *email_problems(email, "email")])
        if over_pending:
            for other in _registered(connection, name, email):
                _remove(connection, other)
        _check_free(connection, name, email)
        row = {
            "id": new_id("u", now),
            "name": name,
            "email": email.lower(),
            "password": password,
            "uid": next_number(connection, "uid"),
            "admin": admin,
            "state": UserState(state),
            "created": now,
            "email_confirmed": now if email_confirmed else None,
        }
        stored = connection.execute(users.insert().values(row).returning(users)).one()
        if identity is not None:
            identify(connection, name, identity, now)
        _enqueue_change(connection, now, name, state)
        return records.user(stored)

    @reading
    def get(self, connection: Connection, name: str) -> User:
        """Return a person by name or id."""
        return records.user(user_row(connection, name))

    @reading
    def list(
        self,
        connection: Connection,
        *,
        state: UserState | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[User]:
        """Return people by name."""
        query = select(users)
        if state is not None:
            query = query.where(users.c.state == UserState(state))
        return page(
            connection, query, users.c.name, records.user, after=after, limit=limit, newest_first=False
        )

    @writing
    def update(
        self,
        connection: Connection,
        name: str,
        now: datetime,
        *,
        state: UserState | None = None,
        admin: bool | None = None,
        email: str | None = None,
        email_confirmed: bool = False,
        password: str | None = None,
        confirmation: tuple[str, str] | None = None,
        stop: RunStop | None = None,
    ) -> User:
        """Change what is given. Shutting a person out ends their sessions and tokens; 409 for the last administrator.

        Another address is not confirmed unless ``email_confirmed`` says so.

        ``confirmation``: an address and the link by which it is confirmed: mailed where it is then the address of an active
        user and not confirmed. ``stop``: what ends of the runs of a user who is then not active.
        """
        if email is not None:
            refuse(email_problems(email, "email"))
        if (state is not None and state is not UserState.ACTIVE) or admin is False:
            _check_not_last(connection, user_row(connection, name).name)
        before = user_row(connection, name, Lock.NO_KEY_UPDATE)
        if email is not None and email.lower() != before.email:
            _check_free(connection, None, email)
        changes: dict[str, Any] = {"state": state, "admin": admin, "password": password}
        changes["email"] = None if email is None else email.lower()
        changes = {key: value for key, value in changes.items() if value is not None}
        if email is not None:
            known = before.email_confirmed if email.lower() == before.email else None
            if email_confirmed and known is None:
                known = now
            if known != before.email_confirmed:
                changes["email_confirmed"] = known
        after = before
        if changes:
            update = users.update().where(users.c.name == before.name).values(changes).returning(users)
            after = connection.execute(update).one()
            if after.state != UserState.ACTIVE:
                connection.execute(secrets.delete().where(secrets.c.user_name == before.name))
            if after.state != before.state:
                _enqueue_change(connection, now, before.name, UserState(after.state))
        if after.state != UserState.ACTIVE:
            if stop is not None:
                stop_runs(connection, after.name, stop, now)
        elif confirmation is not None and after.email_confirmed is None and after.email == confirmation[0]:
            _enqueue_confirmation(connection, now, after.name, *confirmation)
        return records.user(after)

    @writing
    def replace_password(
        self, connection: Connection, name: str, password: str, *, keep: str | None = None
    ) -> None:
        """Set another password and end all sessions and tokens, but for the one of the id ``keep``."""
        found = user_row(connection, name, Lock.NO_KEY_UPDATE)
        connection.execute(users.update().where(users.c.name == found.name).values(password=password))
        ended = secrets.delete().where(secrets.c.user_name == found.name)
        connection.execute(ended if keep is None else ended.where(secrets.c.id != keep))

    @writing
    def record_login(self, connection: Connection, name: str, now: datetime) -> None:
        """Keep that a person has logged in."""
        connection.execute(users.update().where(users.c.name == name).values(entered=now))

    @writing
    def ask_confirmation(
        self, connection: Connection, name: str, email: str, link: str, now: datetime
    ) -> None:
        """Have a mail with a link sent to an address that a person has not confirmed yet."""
        _enqueue_confirmation(connection, now, user_row(connection, name).name, email, link)

    @writing
    def confirm_email(self, connection: Connection, name: str, email: str, now: datetime) -> User | None:
        """Keep that an address is a person's; None where the person has another one (now)."""
        row = user_row(connection, name, Lock.NO_KEY_UPDATE)
        if row.email != email.lower():
            return None
        if row.email_confirmed is not None:
            return records.user(row)
        update = users.update().where(users.c.name == row.name).values(email_confirmed=now)
        return records.user(connection.execute(update.returning(users)).one())

    @writing
    def delete(self, connection: Connection, name: str) -> None:
        """Remove an account that was not approved; 409 for every other, of which folders and charges keep the name."""
        row = user_row(connection, name, Lock.UPDATE)
        if row.state != UserState.PENDING or _is_used(connection, row.name):
            raise conflict(
                "user-approved",
                Phrase("{name} is or was an approved account.", name=row.name),
                "user",
                Phrase("Disable it: its folder and charges keep its name."),
                found=row.state,
                wanted=UserState.PENDING.value,
            )
        _remove(connection, row.name)

    @reading
    def password_hash(self, connection: Connection, name: str) -> str:
        """Return the hash."""
        return str(user_row(connection, name).password)

    @writing
    def set_default_group(self, connection: Connection, user: str, group: str) -> User:
        """Choose the group that later runs are charged to; 409 for a group that the user is not in."""
        person = user_row(connection, user, Lock.NO_KEY_UPDATE)
        chosen = group_row(connection, group, Lock.KEY_SHARE).name
        member = members.c.group_name == chosen, members.c.user_name == person.name
        if connection.execute(select(members.c.since).where(*member)).one_or_none() is None:
            raise conflict(
                "not-a-member",
                Phrase("{person} is not in the group {group}.", person=person.name, group=chosen),
                "default_group",
                Phrase("Put {person} into the group first, or choose another one.", person=person.name),
                found=chosen,
                wanted=Phrase("one of the user's groups"),
            )
        update = users.update().where(users.c.name == person.name).values(default_group=chosen)
        return records.user(connection.execute(update.returning(users)).one())


def _enqueue_change(connection: Connection, now: datetime, name: str, state: UserState) -> None:
    topics = Topic.OPERATOR, Topic.NOTICE, Topic.STORAGE
    enqueue(connection, now, "user-changed", name, *topics, state=UserState(state).value)


def _enqueue_confirmation(connection: Connection, now: datetime, name: str, email: str, link: str) -> None:
    enqueue(connection, now, CONFIRM_EMAIL, name, Topic.NOTICE, email=email.lower(), link=link)


def next_number(connection: Connection, name: str) -> int:
    """Return the next uid or gid; who else wants one waits until this transaction has ended."""
    update = numbers.update().where(numbers.c.name == name).values(last=numbers.c.last + 1)
    return int(connection.execute(update.returning(numbers.c.last)).scalar_one())


def _registered(connection: Connection, name: str, email: str) -> list[str]:
    """Return the accounts of a name or an address that were registered by the form and that were not approved."""
    vouched = select(identities.c.user_name).where(identities.c.user_name == users.c.name)
    query = select(users.c.name).where(
        or_(users.c.name == name, users.c.email == email.lower()),
        users.c.state == UserState.PENDING,
        ~vouched.exists(),
    )
    found = connection.execute(query.order_by(users.c.name).with_for_update()).all()
    return [row.name for row in found if not _is_used(connection, row.name)]


def _is_used(connection: Connection, name: str) -> bool:
    """Whether anything was ever a user's: then the name stays."""
    home = folders.c.kind == "user", folders.c.name == name, folders.c.made.is_not(None)
    if connection.execute(select(folders.c.name).where(*home)).one_or_none() is not None:
        return True
    places = members.c.user_name, definitions.c.owner, data_sets.c.owner, charges.c.user_name, shares.c.who
    return any(
        connection.execute(select(place).where(place == name).limit(1)).one_or_none() is not None
        for place in places
    )


def _remove(connection: Connection, name: str) -> None:
    for table in (secrets, keys, identities):
        connection.execute(table.delete().where(table.c.user_name == name))
    connection.execute(folders.delete().where(folders.c.kind == "user", folders.c.name == name))
    connection.execute(users.delete().where(users.c.name == name))


def _check_free(connection: Connection, name: str | None, email: str) -> None:
    taken = select(users.c.name, users.c.email).where(
        or_(users.c.name == (name or ""), users.c.email == email.lower())
    )
    for row in connection.execute(taken):
        what, value = ("name", name) if row.name == name else ("email", shown(email))
        raise conflict(
            f"{what}-taken",
            Phrase("The {what} {value} is taken.", what=what, value=value or ""),
            what,
            Phrase("Choose another {what}.", what=what),
            found=str(value),
        )


def _check_not_last(connection: Connection, name: str) -> None:
    """Refuse to shut out the last administrator; who does the same to another one at the same time waits here."""
    active = users.c.admin.is_(True), users.c.state == UserState.ACTIVE
    query = select(users.c.name).where(*active).order_by(users.c.name).with_for_update()
    if [row.name for row in connection.execute(query)] == [name]:
        raise conflict(
            "last-administrator",
            Phrase("{name} is the last administrator who can log in.", name=name),
            "user",
            Phrase("Make another user an administrator first."),
        )
