"""One's own account: default group, address, password, log-ins."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.api.routes import groups, sessions, users
from ava.api.routes.common import Ref
from ava.api.schemas.people import DefaultGroup, PasswordChange, UserChange
from ava.domain.problems import Refused
from ava.web import forms
from ava.web.visit import Someone, Visit

routes = APIRouter()


def _page(visit: Visit, refused: Refused | None = None, about: str = "") -> Response:
    return visit.page(
        "account.html",
        refused=refused,
        about=about,
        groups=groups.list_groups(visit.who, groups.GroupsQuery(limit=100)).items,
        sessions=sessions.list_sessions(visit.who),
        current=visit.who.secret_id,
        values=visit.form,
    )


@routes.get("/account")
def show(visit: Someone) -> Response:
    """Show it."""
    return _page(visit)


@routes.post("/account/group")
def group(visit: Someone) -> Response:
    """Choose the group that later runs are charged to."""
    try:
        users.set_default_group(
            "me", forms.as_model(DefaultGroup, {"group": visit.form.text("group")}), visit.who
        )
    except Refused as refused:
        return _page(visit, refused, "group")
    return visit.go("/account", done="saved")


@routes.post("/account/email")
def email(visit: Someone) -> Response:
    """Change the address."""
    try:
        users.change_user("me", forms.as_model(UserChange, {"email": visit.form.text("email")}), visit.who)
    except Refused as refused:
        return _page(visit, refused, "email")
    return visit.go("/account", done="saved")


@routes.post("/account/password")
def password(visit: Someone) -> Response:
    """Change the password."""
    form = visit.form
    try:
        forms.twice(form, "new")
        given = {"new": form.get("new", ""), "current": form.get("current") or None}
        users.set_password("me", forms.as_model(PasswordChange, given), visit.who)
    except Refused as refused:
        return _page(visit, refused, "password")
    return visit.go("/account", done="password")


@routes.post("/account/sessions/{id}/end")
def end(id: Ref, visit: Someone) -> Response:
    """End another log-in of one's own."""
    sessions.end_session(id, visit.who)
    return visit.go("/account", done="ended")
