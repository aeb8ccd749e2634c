"""Login at the site's OpenID Connect provider, and which ways to log in there are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from starlette.responses import RedirectResponse

from ava.http import cookies
from ava.http.dependencies import context_of
from ava.http.requests import any_query
from ava.http.routing import router
from ava.schemas.common import Answer
from ava.services.auth import oidc_login, sessions

routes = router("sessions")
Long = Annotated[str | None, Query(max_length=4096)]


class Ways(Answer):
    """How people log in here."""

    password: bool
    oidc: bool
    registration: bool


@routes.get("/login")
def ways(request: Request) -> Ways:
    """Return the ways to log in; ``oidc`` begins at GET /api/v1/oidc/login."""
    context = context_of(request)
    return Ways(password=True, oidc=context.provider is not None, registration=context.config.registration)


@routes.get("/oidc/login", status_code=303, response_class=Response)
def begin(request: Request, next: Long = None) -> Response:
    """Send the browser to the provider; ``next`` is the page of AVA's that it comes to afterwards."""
    url, kept = oidc_login.begin(context_of(request), str(request.state.address), next)
    answer = RedirectResponse(url, 303)
    answer.set_cookie(
        oidc_login.COOKIE,
        kept,
        max_age=int(oidc_login.LONGEST.total_seconds()),
        path="/",
        secure=True,
        httponly=True,
        samesite="lax",
    )
    return answer


@routes.get("/oidc/callback", status_code=303, response_class=Response)
@any_query
def end(
    request: Request,
    code: Long = None,
    state: Long = None,
    error: Long = None,
) -> Response:
    """Take the provider's answer: begin a session, always a new one, and go to the page that was wanted.

    What else a provider adds to its answer (iss, session_state, authuser, hd …) is ignored, as OpenID
    Connect Core 3.1.2.5 wants it.
    """
    context, address = context_of(request), str(request.state.address)
    kept = request.cookies.get(oidc_login.COOKIE)
    user, following = oidc_login.finish(context, address, kept, code, state, error)
    answer = RedirectResponse(following, 303)
    new = sessions.begin(context, user, address, cookies.session(request))
    cookies.set_session(answer, new, context.config.session_hours)
    answer.delete_cookie(oidc_login.COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return answer
