"""Sessions of people: opened by a login, listed, ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ava.domain.model import User
from ava.schemas.users import Login, SecretOut
from ava.services import serializers
from ava.services.auth import credentials, login
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


def open_session(services: Context, body: Login, address: str, *, known: str, former: str) -> NewSession:
    """Log in by name and password; ``known`` and ``former`` are the browser's cookies."""
    user = login.user(services, body.name, body.password, address, known)
    return begin(services, user, address, former)


def begin(services: Context, user: User, address: str, former: str) -> NewSession:
    """Begin a session of a user who has logged in, always a new one.

    A session whose cookie came along (``former``) is ended: what another site or person may have put there is of no use.
    """
    _end_former(services, former)
    until = services.clock() + timedelta(hours=services.config.session_hours)
    id, secret = credentials.make(services, user.name, "session", until, address)
    services.audit(user.name, "sessions.open", f"user {user.name}", "done", address)
    return NewSession(user, secret, f"{id}.{secret}", login.mark(services, user.name), until)


def _end_former(services: Context, cookie: str) -> None:
    id, _, secret = cookie.partition(".")
    former = services.store.authenticate("session", digest(secret), services.clock()) if secret else None
    if former is not None:
        services.store.end_secret(former.name, id)


def list_sessions(who: Caller) -> list[SecretOut]:
    """Return one's own logins; the label is the address that each came from."""
    who.may("sessions.list")
    return [serializers.secret(s) for s in who.services.store.secrets(who.me.name, "session")]


def log_out(who: Caller) -> None:
    """End the session (or token) that asks; nothing can be done with it afterwards."""
    # Each token may end itself, whatever its scopes.
    with who.change(f"{who.kind}s.end", f"{who.kind} {who.secret_id}"):
        who.services.store.end_secret(who.me.name, who.secret_id)


def end_session(who: Caller, id: str) -> None:
    """End another one of one's own sessions."""
    who.may("sessions.end", owner=who.me.name)
    with who.change("sessions.end", f"session {id}"):
        who.services.store.end_secret(who.me.name, id)
