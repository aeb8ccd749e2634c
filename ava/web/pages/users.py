"""People, for administrators: approve, shut out, make administrators, groups, a new password."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.http.routing import Ref
from ava.schemas.common import GroupName
from ava.schemas.users import GroupsQuery, InvitationOut, PasswordChange, UserChange, UserMake, UsersQuery
from ava.services import groups, serializers, users
from ava.services.auth import invitations
from ava.services.auth.authorization import authorize
from ava.web import forms, offboarding
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 50


def _list(visit: PageRequest, refused: ApiError | None = None, about: str = "new") -> Response:
    asked = visit.request.query_params
    state = asked.get("state") or ("pending" if about == "approval" else None)
    query = forms.as_model(UsersQuery, {"state": state, "limit": PAGE, "after": asked.get("after") or None})
    found = users.list_users(visit.context, visit.caller, query)
    return visit.page(
        "users.html",
        refused=refused,
        about=about,
        users=found.items,
        next=found.next,
        first=not query.after,
        state=state,
        groups=_all_groups(visit),
        values={k: v for k, v in visit.form.items() if k != "password"},
    )


def _all_groups(visit: PageRequest) -> list[str]:
    found = groups.list_groups(visit.context, visit.caller, GroupsQuery(all=True, limit=500))
    return [group.name for group in found.items]


@routes.get("/admin/users")
def list_users(visit: Someone) -> Response:
    """Show people."""
    return _list(visit)


@routes.post("/admin/users")
def make(visit: Someone) -> Response:
    """Make an account that can be used at once; without a password its page shows the invitation by which one is chosen."""
    form = visit.form
    try:
        body = forms.as_model(
            UserMake,
            {
                "name": form.text("name"),
                "email": form.text("email"),
                "password": form.get("password") or None,
                "admin": form.get("admin") == "1",
            },
        )
        users.make_user(visit.context, visit.caller, body)
    except ApiError as refused:
        if refused.status == 403 and not visit.caller.me.admin:
            raise
        return _list(visit, refused)
    if body.password is None and not invitations.elsewhere(visit.context, body.admin):
        return invite(body.name, visit)
    return visit.go(f"/admin/users/{body.name}", done="saved")


def _show(
    visit: PageRequest,
    name: str,
    refused: ApiError | None = None,
    about: str = "",
    made: InvitationOut | None = None,
) -> Response:
    found = users.show_user(visit.context, visit.caller, name)
    authorize(visit.context, visit.caller, "users.list")
    theirs = visit.context.db.groups.list(user=found.name, limit=200).items
    return visit.page(
        "user.html",
        201 if made else 200,
        refused=refused,
        about=about,
        made=made,
        invitable=found.state == "active" and not invitations.elsewhere(visit.context, found.admin),
        link=f"https://{visit.request.url.netloc}/invitation#{made.invitation}" if made else "",
        user=found,
        theirs=[serializers.group(group) for group in theirs],
        groups=[g for g in _all_groups(visit) if g not in {t.name for t in theirs}],
    )


@routes.get("/admin/users/{name}")
def show(name: Ref, visit: Someone) -> Response:
    """Show a person."""
    return _show(visit, name)


@routes.get("/admin/users/{name}/disable")
def disabling(name: Ref, visit: Someone) -> Response:
    """Show what a person runs before they are shut out."""
    found = users.show_user(visit.context, visit.caller, name)
    authorize(
        visit.context,
        visit.caller,
        "users.change",
        what=Phrase("user {name}", name=found.name),
        where="path.name",
    )
    return offboarding.page(visit, found.name)


@routes.post("/admin/users/{name}")
def change(name: Ref, visit: Someone) -> Response:
    """Approve, shut out, make or unmake an administrator; an approval may put the person into a group at once."""
    form = visit.form
    admin = {"yes": True, "no": False}.get(form.get("admin", ""))
    stop = form.get("stop_runs") == "1" or None
    body = forms.as_model(UserChange, {"state": form.given("state"), "admin": admin, "stop_runs": stop})
    group = form.given("group")
    if form.get("back") == "list" and group is None:
        # An account in no group can start nothing.
        problem = Problem(
            "group-missing",
            Phrase("No group is chosen for {name}.", name=name),
            "body.group",
            Phrase("nothing"),
            Phrase("a group"),
            Phrase("Choose a group, then approve."),
        )
        return _list(visit, ApiError(422, problem), "approval")
    try:
        users.change_user(visit.context, visit.caller, name, body)
        if group is not None:
            groups.add_member(visit.context, visit.caller, forms.one(GroupName, group, "group"), name)
    except ApiError as refused:
        if refused.status in (403, 404):
            raise
        return _show(visit, name, refused, "state")
    if form.get("back") == "list":
        return visit.go("/admin/users?state=pending", done="approved")
    return visit.go(f"/admin/users/{name}", done="saved")


@routes.post("/admin/users/{name}/delete")
def delete(name: Ref, visit: Someone) -> Response:
    """Remove an account that was not approved."""
    users.remove_user(visit.context, visit.caller, name)
    return visit.go("/admin/users?state=pending", done="deleted")


@routes.post("/admin/users/{name}/password")
def password(name: Ref, visit: Someone) -> Response:
    """Set a password."""
    try:
        body = forms.as_model(PasswordChange, {"new": visit.form.get("new", "")})
        users.set_password(visit.context, visit.caller, name, body)
    except ApiError as refused:
        if refused.status == 404 or not visit.caller.me.admin:
            raise
        return _show(visit, name, refused, "password")
    return visit.go(f"/admin/users/{name}", done="password")


@routes.post("/admin/users/{name}/invitation")
def invite(name: Ref, visit: Someone) -> Response:
    """Make an invitation; the answer alone shows it."""
    try:
        made = users.invite(visit.context, visit.caller, name)
    except ApiError as refused:
        if refused.status in (403, 404):
            raise
        return _show(visit, name, refused, "invitation")
    return _show(visit, name, made=made)


@routes.post("/admin/users/{name}/email-confirmation")
def send_confirmation(name: Ref, visit: Someone) -> Response:
    """Send the link again by which a user confirms an address."""
    return visit.changed(
        lambda: users.send_confirmation(visit.context, visit.caller, name),
        lambda refused: _show(visit, name, refused, "email"),
        f"/admin/users/{name}",
        "confirmation-sent",
    )


@routes.post("/admin/users/{name}/groups")
def join(name: Ref, visit: Someone) -> Response:
    """Put a person into a group."""
    groups.add_member(
        visit.context, visit.caller, forms.one(GroupName, visit.form.text("group"), "group"), name
    )
    return visit.go(f"/admin/users/{name}", done="saved")
