"""Login and log-out of people."""

from __future__ import annotations

from fastapi import Request, Response

from ava.api.routes.common import Ref, router
from ava.schemas.users import Login, SecretOut, SessionOut
from ava.services import serializers
from ava.services.auth import login, sessions
from ava.services.auth.caller import COOKIE, Someone, csrf, services_of

routes = router("sessions")


@routes.post("/sessions", status_code=201)
def open_session(body: Login, request: Request, response: Response) -> SessionOut:
    """Log in; the answer sets the session's cookie, always a new one, and tells its CSRF token.

    A session whose cookie came along is ended: what another site or person may have put there is of no use.
    """
    services = services_of(request)
    address = str(request.state.address)
    user = login.user(services, body.name, body.password, address, request.cookies.get(login.KNOWN, ""))
    secret, until = sessions.begin(request, response, user)
    return SessionOut(user=serializers.user(services, user), csrf=csrf(secret), kind="session", until=until)


@routes.get("/sessions")
def list_sessions(who: Someone) -> list[SecretOut]:
    """Return one's own logins; the label is the address that each came from."""
    who.may("sessions.list")
    return [serializers.secret(s) for s in who.services.store.secrets(who.me.name, "session")]


@routes.get("/sessions/current")
def current(who: Someone) -> SessionOut:
    """Return who one is, and the session's CSRF token."""
    return SessionOut(
        user=serializers.user(who.services, who.me),
        csrf=who.csrf if who.kind == "session" else "",
        kind=who.kind,
    )


@routes.delete("/sessions/current", status_code=204)
def log_out(who: Someone, response: Response) -> None:
    """End the session (or token) that asks; nothing can be done with it afterwards."""
    # Each token may end itself, whatever its scopes.
    with who.change(f"{who.kind}s.end", f"{who.kind} {who.secret_id}"):
        who.services.store.end_secret(who.me.name, who.secret_id)
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")


@routes.delete("/sessions/{id}", status_code=204)
def end_session(id: Ref, who: Someone) -> None:
    """End another one of one's own sessions."""
    who.may("sessions.end", owner=who.me.name)
    with who.change("sessions.end", f"session {id}"):
        who.services.store.end_secret(who.me.name, id)
