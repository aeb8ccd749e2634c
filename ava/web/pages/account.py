"""One's own account: default group, address, password, logins."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.users import ConfirmationUse, DefaultGroup, GroupsQuery, PasswordChange, UserChange
from ava.services import groups, users
from ava.services.auth import sessions
from ava.web import forms
from ava.web.request import PageRequest, Someone

routes = APIRouter()


def _page(visit: PageRequest, refused: ApiError | None = None, about: str = "") -> Response:
    return visit.page(
        "account.html",
        refused=refused,
        account=users.show_user(visit.context, visit.caller, "me"),
        about=about,
        groups=groups.list_groups(visit.context, visit.caller, GroupsQuery(limit=100)).items,
        sessions=sessions.list_sessions(visit.context, visit.caller),
        current=visit.caller.secret_id,
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
            visit.context,
            visit.caller,
            "me",
            forms.as_model(DefaultGroup, {"group": visit.form.text("group")}),
        )
    except ApiError as refused:
        return _page(visit, refused, "group")
    return visit.go("/account", done="saved")


@routes.post("/account/email")
def email(visit: Someone) -> Response:
    """Change the address."""
    try:
        users.change_user(
            visit.context, visit.caller, "me", forms.as_model(UserChange, {"email": visit.form.text("email")})
        )
    except ApiError as refused:
        return _page(visit, refused, "email")
    return visit.go("/account", done="saved")


@routes.post("/account/email/confirmation")
def send_confirmation(visit: Someone) -> Response:
    """Send the link again by which the address is confirmed."""
    try:
        users.send_confirmation(visit.context, visit.caller, "me")
    except ApiError as refused:
        return _page(visit, refused, "email")
    return visit.go("/account", done="confirmation-sent")


@routes.get("/confirm-email")
def confirmation_page(visit: Someone) -> Response:
    """Show the address and a button: programs that look through mails open links, and send no forms."""
    return _confirmation(visit, visit.request.query_params.get("confirmation", ""))


@routes.post("/confirm-email")
def confirm(visit: Someone) -> Response:
    """Confirm the address of the account that is logged in."""
    given = visit.form.text("confirmation")
    try:
        users.use_confirmation(
            visit.context, visit.caller, forms.as_model(ConfirmationUse, {"confirmation": given})
        )
    except ApiError as refused:
        return _confirmation(visit, given, refused)
    return visit.go("/account", done="confirmed")


def _confirmation(visit: PageRequest, given: str, refused: ApiError | None = None) -> Response:
    return visit.page("confirm_email.html", refused=refused, confirmation=given)


@routes.post("/account/password")
def password(visit: Someone) -> Response:
    """Change the password."""
    form = visit.form
    try:
        forms.twice(form, "new")
        given = {"new": form.get("new", ""), "current": form.get("current") or None}
        users.set_password(visit.context, visit.caller, "me", forms.as_model(PasswordChange, given))
    except ApiError as refused:
        return _page(visit, refused, "password")
    return visit.go("/account", done="password")


@routes.post("/account/sessions/{id}/end")
def end(id: Ref, visit: Someone) -> Response:
    """End another login of one's own."""
    sessions.end_session(visit.context, visit.caller, id)
    return visit.go("/account", done="ended")
