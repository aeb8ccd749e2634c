"""Authentication: the caller of a session's cookie or of a program's token."""

from __future__ import annotations

import re
from dataclasses import replace

from ava.domain.problems import ApiError
from ava.services.auth import permissions, recent_login
from ava.services.auth.caller import PREFIX, Caller, csrf, digest
from ava.services.context import Context

_SECRET = re.compile(r"^(?P<id>[a-z0-9]{1,40})\.(?P<secret>[A-Za-z0-9_-]{43})$")


def by_token(context: Context, token: str, address: str) -> Caller:
    """Return the caller whose token it is; ApiError 401 for one that is not valid (any more)."""
    return _known(context, "token", _SECRET.match(token.strip().removeprefix(PREFIX)), address)


def by_name_and_token(context: Context, name: str, token: str, address: str) -> Caller:
    """Return the caller whose name and token it is; ApiError 401 for a token of another user, and for a password."""
    known = _known(context, "token", _SECRET.match(token.removeprefix(PREFIX)), address)
    if known.me.name != name:
        raise permissions.unauthenticated()
    return known


def by_session(context: Context, cookie: str | None, address: str) -> Caller:
    """Return whose session a cookie is; no one where it is none (any more): login and registration continue."""
    if cookie is None:
        return Caller(address)
    try:
        return _known(context, "session", _SECRET.match(cookie), address)
    except ApiError as refused:
        if refused.status != 401:
            raise
        return Caller(address)


def check(context: Context, caller: Caller) -> None:
    """Return if the caller's session or token is valid still; ApiError 401 else: requests that last ask this again."""
    user = context.db.secrets.authenticate(caller.kind, caller.digest, context.clock())
    if user is None or not recent_login.is_recent(context, user):
        raise permissions.unauthenticated()


def _known(context: Context, kind: str, found: re.Match[str] | None, address: str) -> Caller:
    bearer = context.db.secrets.bearer(kind, digest(found["secret"]), context.clock()) if found else None
    if bearer is None or found is None:
        raise permissions.unauthenticated()
    user, scopes = bearer
    if not recent_login.is_recent(context, user):
        raise recent_login.too_old(context)
    if scopes is not None:
        user = replace(user, admin=False)
    secret = found["secret"]
    return Caller(address, user, kind, found["id"], csrf(secret), digest(secret), scopes)
