"""Login, log-out, registration, language."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Response

from ava.domain.problems import ApiError
from ava.http import cookies
from ava.schemas.users import InvitationUse, Login, Registration
from ava.services import users
from ava.services.auth import sessions
from ava.services.auth.login import KNOWN
from ava.web import forms, i18n
from ava.web.request import FORM_COOKIE, AnyVisit, PageRequest, Someone, local

routes = APIRouter()
YEAR = 365 * 86400


@routes.get("/login")
def login_page(visit: AnyVisit) -> Response:
    """Show the login."""
    if visit.caller.user is not None:
        return visit.go(local(visit.request.query_params.get("next")))
    return _login(visit, local(visit.request.query_params.get("next")))


def _login(visit: PageRequest, following: str, refused: ApiError | None = None) -> Response:
    return visit.page(
        "login.html",
        refused=refused,
        next=following,
        values=visit.form,
        provider=f"/api/v1/oidc/login?{urlencode({'next': following})}" if visit.context.provider else "",
    )


@routes.post("/login")
def login(visit: AnyVisit) -> Response:
    """Log in: always a new session, and the former one is ended."""
    form, following = visit.form, local(visit.form.get("next"))
    answer = visit.go(following)
    try:
        body = forms.as_model(Login, {"name": form.text("name"), "password": form.get("password", "")})
        request, context = visit.request, visit.context
        known, former = request.cookies.get(KNOWN, ""), cookies.session(request)
        new = sessions.open_session(context, body, str(request.state.address), known=known, former=former)
        cookies.set_session(answer, new, context.config.session_hours)
    except ApiError as refused:
        return _login(visit, following, refused)
    answer.delete_cookie(FORM_COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    return answer


@routes.post("/logout")
def logout(visit: Someone) -> Response:
    """End the session."""
    answer = visit.go("/login", done="out")
    sessions.log_out(visit.context, visit.caller)
    cookies.clear_session(answer)
    # What the browser may have kept of this session's pages is of no use to who comes next.
    answer.headers["clear-site-data"] = '"cache"'
    return answer


@routes.get("/register")
def register_page(visit: AnyVisit) -> Response:
    """Show the registration."""
    return visit.page("register.html", values={})


@routes.post("/register")
def register(visit: AnyVisit) -> Response:
    """Ask for an account."""
    form = visit.form
    try:
        forms.twice(form, "password")
        body = forms.as_model(
            Registration,
            {"name": form.text("name"), "email": form.text("email"), "password": form.get("password", "")},
        )
        users.register(visit.context, visit.caller, body)
    except ApiError as refused:
        return visit.page("register.html", refused=refused, values=form)
    return visit.go("/login", done="registered")


@routes.get("/invitation")
def invitation_page(visit: AnyVisit) -> Response:
    """Show where an invited person chooses a password; the invitation itself stays in the browser until it is sent."""
    return visit.page("invitation.html", values={})


@routes.post("/invitation")
def use_invitation(visit: AnyVisit) -> Response:
    """Use an invitation."""
    form = visit.form
    try:
        forms.twice(form, "password")
        body = forms.as_model(
            InvitationUse, {"invitation": form.text("invitation"), "password": form.get("password", "")}
        )
        users.use_invitation(visit.context, visit.caller, body)
    except ApiError as refused:
        return visit.page("invitation.html", refused=refused, values=form)
    return visit.go("/login", done="chosen")


@routes.post("/language")
def language(visit: AnyVisit) -> Response:
    """Choose the language of this browser."""
    wanted = visit.form.get("language", "")
    answer = visit.go(local(visit.form.get("next")))
    if wanted in i18n.LANGUAGES:
        answer.set_cookie(
            i18n.COOKIE, wanted, path="/", secure=True, httponly=True, samesite="lax", max_age=YEAR
        )
    return answer
