"""Cookies of sessions."""

from __future__ import annotations

from fastapi import Request, Response

from ava.services.auth.login import KNOWN, KNOWN_SECONDS
from ava.services.auth.sessions import NewSession

SESSION = "__Host-ava"
"""The prefix makes browsers insist on Secure, on no Domain and on Path=/ (RFC 6265bis)."""


def session(request: Request) -> str:
    """Return the session's cookie of a request; empty without one."""
    return request.cookies.get(SESSION, "")


def set_session(response: Response, new: NewSession, hours: int) -> None:
    """Set the cookies of a session that has begun."""
    response.set_cookie(
        SESSION, new.cookie, max_age=hours * 3600, path="/", secure=True, httponly=True, samesite="lax"
    )
    response.set_cookie(
        KNOWN, new.known, max_age=KNOWN_SECONDS, path="/", secure=True, httponly=True, samesite="strict"
    )


def clear_session(response: Response) -> None:
    """Have a browser drop its session's cookie."""
    response.delete_cookie(SESSION, path="/", secure=True, httponly=True, samesite="lax")
