"""Sessions of people: opened by a login, listed, ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ava.domain.model import User
from ava.schemas.users import Login, SecretOut
from ava.services import serializers
from ava.services.auth import credentials, login
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller, digest
from ava.services.context import Context


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that has begun.

    Attributes:
        cookie: the value of the session's cookie, which holds the secret.
        known: the value of the cookie by which the browser is known to have logged in.
    """

    user: User
    secret: str
    cookie: str
    known: str
    until: datetime


def open_session(context: Context, body: Login, address: str, *, known: str, former: str) -> NewSession:
    """Log in by name and password; ``known`` and ``former`` are the browser's cookies."""
    user = login.user(context, body.name, body.password, address, known)
    return begin(context, user, address, former)


def begin(context: Context, user: User, address: str, former: str) -> NewSession:
    """Begin a session of a user who has logged in, always a new one.

    A session whose cookie came along (``former``) is ended: what another site or person may have put there is of no use.
    """
    _end_former(context, former)
    until = context.clock() + timedelta(hours=context.config.session_hours)
    id, secret = credentials.make(context, user.name, "session", until, address)
    context.audit(user.name, "sessions.open", f"user {user.name}", "done", address)
    return NewSession(user, secret, f"{id}.{secret}", login.mark(context, user.name), until)


def _end_former(context: Context, cookie: str) -> None:
    id, _, secret = cookie.partition(".")
    former = context.db.secrets.authenticate("session", digest(secret), context.clock()) if secret else None
    if former is not None:
        context.db.secrets.delete(former.name, id)


def list_sessions(context: Context, caller: Caller) -> list[SecretOut]:
    """Return one's own logins; the label is the address that each came from."""
    authorize(context, caller, "sessions.list")
    return [serializers.secret(s) for s in context.db.secrets.list(caller.me.name, "session")]


def log_out(context: Context, caller: Caller) -> None:
    """End the session (or token) that asks; nothing can be done with it afterwards."""
    # Each token may end itself, whatever its scopes.
    with record_change(context, caller, f"{caller.kind}s.end", f"{caller.kind} {caller.secret_id}"):
        context.db.secrets.delete(caller.me.name, caller.secret_id)


def end_session(context: Context, caller: Caller, id: str) -> None:
    """End another one of one's own sessions."""
    authorize(context, caller, "sessions.end", owner=caller.me.name)
    with record_change(context, caller, "sessions.end", f"session {id}"):
        context.db.secrets.delete(caller.me.name, id)
