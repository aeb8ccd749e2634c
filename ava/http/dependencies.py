"""Dependencies of routes: the context of services, and the caller by the request's cookie or header."""

from __future__ import annotations

import base64
import hmac
from typing import Annotated

from fastapi import Depends, Request

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http import cookies
from ava.services.auth import authentication, permissions
from ava.services.auth import scopes as token_scopes
from ava.services.auth.caller import Caller
from ava.services.context import Context

CSRF = "x-csrf-token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def context_of(request: Request) -> Context:
    """Return the context of the application's services."""
    context: Context = request.app.state.services
    return context


def address_of(request: Request) -> str:
    """Return the address that a request comes from, as the middleware has found it."""
    return str(getattr(request.state, "address", "unknown"))


def caller_of(request: Request) -> Caller:
    """Return the caller by a token, or by a session's cookie (with its CSRF token where something changes).

    Raises:
        ApiError: 401 for a token that is not valid (any more); 403 for a change without its CSRF token.
    """
    context, address = context_of(request), address_of(request)
    head = request.headers.get("authorization")
    if head is not None:
        scheme, _, word = head.partition(" ")
        known = authentication.by_token(context, word if scheme.lower() == "bearer" else "", address)
        token_scopes.permit_request(known.scopes, request.method, request.url.path)
        return known
    known = authentication.by_session(context, request.cookies.get(cookies.SESSION), address)
    if known.user is None:
        return known
    given = request.headers.get(CSRF, "")
    if request.method not in SAFE and not hmac.compare_digest(given.encode(), known.csrf.encode()):
        raise ApiError(
            403,
            Problem(
                "csrf",
                Phrase("The change does not come from AVA's own page."),
                f"header {CSRF}",
                "another or no token" if given else Phrase("nothing"),
                Phrase("the `csrf` of the session"),
                Phrase("Send the token that the login (or GET /api/v1/sessions/current) has answered."),
            ),
        )
    return known


def caller_by_basic(request: Request) -> Caller | None:
    """Return the caller by HTTP basic authentication: a name and one of its user's tokens; None where it is not used.

    Raises:
        ApiError: 401 for a token that is not valid (any more) or another user's; a password is none.
    """
    scheme, _, word = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, token = base64.b64decode(word.strip(), validate=True).decode("utf-8").partition(":")
    except ValueError:
        raise permissions.unauthenticated() from None
    return authentication.by_name_and_token(context_of(request), name, token, address_of(request))


def someone(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    """Return the caller; ApiError 401 without a login."""
    if caller.user is None:
        raise permissions.unauthenticated()
    return caller


async def _context(request: Request) -> Context:
    # A coroutine: the others are called in threads, which this one needs not.
    return context_of(request)


CurrentContext = Annotated[Context, Depends(_context)]
AnyCaller = Annotated[Caller, Depends(caller_of)]
Someone = Annotated[Caller, Depends(someone)]
