"""Login and log-out of people."""

from __future__ import annotations

from fastapi import Request, Response

from ava.http import cookies
from ava.http.dependencies import CurrentContext, Someone, context_of
from ava.http.routing import Ref, router
from ava.schemas.users import Login, SecretOut, SessionOut
from ava.services import serializers
from ava.services.auth import sessions
from ava.services.auth.caller import csrf
from ava.services.auth.login import KNOWN

routes = router("sessions")


@routes.post("/sessions", status_code=201)
def open_session(body: Login, request: Request, response: Response) -> SessionOut:
    """Log in; the answer sets the session's cookie, always a new one, and tells its CSRF token.

    A session whose cookie came along is ended: what another site or person may have put there is of no use.
    """
    context = context_of(request)
    address = str(request.state.address)
    known, former = request.cookies.get(KNOWN, ""), cookies.session(request)
    new = sessions.open_session(context, body, address, known=known, former=former)
    cookies.set_session(response, new, context.config.session_hours)
    user = serializers.user(context, new.user)
    return SessionOut(user=user, csrf=csrf(new.secret), kind="session", until=new.until)


@routes.get("/sessions")
def list_sessions(context: CurrentContext, caller: Someone) -> list[SecretOut]:
    """Return one's own logins; the label is the address that each came from."""
    return sessions.list_sessions(context, caller)


@routes.get("/sessions/current")
def current(context: CurrentContext, caller: Someone) -> SessionOut:
    """Return who one is, and the session's CSRF token."""
    return SessionOut(
        user=serializers.user(context, caller.me),
        csrf=caller.csrf if caller.kind == "session" else "",
        kind=caller.kind,
    )


@routes.delete("/sessions/current", status_code=204)
def log_out(context: CurrentContext, caller: Someone, response: Response) -> None:
    """End the session (or token) that asks; nothing can be done with it afterwards."""
    sessions.log_out(context, caller)
    cookies.clear_session(response)


@routes.delete("/sessions/{id}", status_code=204)
def end_session(id: Ref, context: CurrentContext, caller: Someone) -> None:
    """End another one of one's own sessions."""
    sessions.end_session(context, caller, id)
