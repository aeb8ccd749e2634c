"""A session that begins: always a new one, and whatever the browser had before is ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from fastapi import Request, Response

from ava.domain.model import User
from ava.services.auth import credentials, login
from ava.services.auth.caller import COOKIE, digest, services_of


def begin(request: Request, response: Response, user: User) -> tuple[str, datetime]:
    """Make a session and set its cookie; return its secret and when it ends.

    A session whose cookie came along is ended: what another site or person may have put there is of no use.
    """
    services, address = services_of(request), str(request.state.address)
    _end_former(request)
    until = services.clock() + timedelta(hours=services.config.session_hours)
    id, secret = credentials.make(services, user.name, "session", until, address)
    services.audit(user.name, "sessions.open", f"user {user.name}", "done", address)
    response.set_cookie(
        COOKIE,
        f"{id}.{secret}",
        max_age=services.config.session_hours * 3600,
        path="/",
        secure=True,
        httponly=True,
        samesite="lax",
    )
    response.set_cookie(
        login.KNOWN,
        login.mark(services, user.name),
        max_age=login.KNOWN_SECONDS,
        path="/",
        secure=True,
        httponly=True,
        samesite="strict",
    )
    return secret, until


def _end_former(request: Request) -> None:
    services = services_of(request)
    id, _, secret = request.cookies.get(COOKIE, "").partition(".")
    former = services.store.authenticate("session", digest(secret), services.clock()) if secret else None
    if former is not None:
        services.store.end_secret(former.name, id)
