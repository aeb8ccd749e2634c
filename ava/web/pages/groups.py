"""Groups: what they may have and have, their members; administrators change all of it."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Response

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError
from ava.http.routing import Ref
from ava.schemas.common import QuotaIn, UserName
from ava.schemas.users import GroupMake, GroupsQuery
from ava.services import data_sets, groups, users
from ava.services.auth.authorization import authorize
from ava.web import forms, offboarding, quotas
from ava.web.request import PageRequest, Someone

routes = APIRouter()
PAGE = 50


def _list(visit: PageRequest, refused: ApiError | None = None) -> Response:
    asked = visit.request.query_params
    query = forms.as_model(GroupsQuery, {"all": True, "limit": PAGE, "after": asked.get("after") or None})
    found = groups.list_groups(visit.context, visit.caller, query)
    return visit.page(
        "groups.html",
        refused=refused,
        groups=found.items,
        next=found.next,
        first=not query.after,
        values=visit.form,
    )


@routes.get("/admin/groups")
def list_groups(visit: Someone) -> Response:
    """Show all groups."""
    return _list(visit)


@routes.post("/admin/groups")
def make(visit: Someone) -> Response:
    """Make a group."""
    form = visit.form
    try:
        body = forms.as_model(GroupMake, {"name": form.text("name"), "quota": _quota(form)})
        groups.make_group(visit.context, visit.caller, body)
    except ApiError as refused:
        return _list(visit, refused)
    return visit.go(f"/groups/{body.name}", done="saved")


def _quota(form: forms.Form) -> QuotaIn:
    return forms.as_model(QuotaIn, quotas.read(form))


def _show(visit: PageRequest, name: str, refused: ApiError | None = None, about: str = "") -> Response:
    group = groups.show_group(visit.context, visit.caller, name)
    return visit.page(
        "group.html",
        refused=refused,
        about=about,
        group=group,
        members=groups.list_members(visit.context, visit.caller, name),
        storage=data_sets.show_group_folder(visit.context, visit.caller, name),
        values=visit.form if about == "quota" else quotas.shown(group.quota),
        user=visit.form.text("user") if about == "member" else "",
    )


@routes.get("/groups/{name}")
def show(name: Ref, visit: Someone) -> Response:
    """Show a group."""
    return _show(visit, name)


@routes.post("/groups/{name}/quota")
def quota(name: Ref, visit: Someone) -> Response:
    """Change a group's quota."""
    return visit.changed(
        lambda: groups.set_quota(visit.context, visit.caller, name, _quota(visit.form)),
        partial(_show, visit, name, about="quota"),
        f"/groups/{name}",
        "saved",
    )


@routes.post("/groups/{name}/members")
def join(name: Ref, visit: Someone) -> Response:
    """Put a user into a group."""
    try:
        groups.add_member(
            visit.context, visit.caller, name, forms.one(UserName, visit.form.text("user"), "user")
        )
    except ApiError as refused:
        if refused.status == 403 or not visit.caller.me.admin:
            raise
        return _show(visit, name, refused, "member")
    return visit.go(f"/groups/{name}", done="saved")


@routes.get("/groups/{name}/members/{user}/remove")
def leaving(name: Ref, user: Ref, visit: Someone) -> Response:
    """Show what a user runs in a group before they are taken out."""
    authorize(
        visit.context, visit.caller, "groups.leave", what=Phrase("group {name}", name=name), where="path.name"
    )
    group = groups.show_group(visit.context, visit.caller, name)
    return offboarding.page(visit, users.show_user(visit.context, visit.caller, user).name, group.name)


@routes.post("/groups/{name}/members/{user}/remove")
def leave(name: Ref, user: Ref, visit: Someone) -> Response:
    """Take a user out of a group; with the form's word their runs of it are stopped."""
    groups.remove_member(visit.context, visit.caller, name, user, visit.form.get("stop_runs") == "1")
    return visit.go(f"/groups/{name}", done="saved")


@routes.post("/groups/{name}/delete")
def delete(name: Ref, visit: Someone) -> Response:
    """Remove a group without members and runs."""
    groups.delete_group(visit.context, visit.caller, name)
    return visit.go("/admin/groups", done="deleted")
