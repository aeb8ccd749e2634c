"""Groups, their members and quotas."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged, QuotaIn
from ava.schemas.users import GroupMake, GroupOut, GroupsQuery, MemberOut
from ava.services import groups

routes = router("groups")


@routes.get("/groups")
def list_groups(
    context: CurrentContext, caller: Someone, query: Annotated[GroupsQuery, Query()]
) -> Paged[GroupOut]:
    """Return groups by name, with what they may have and what they have now (U5)."""
    return groups.list_groups(context, caller, query)


@routes.post("/groups", status_code=201, responses={200: {"model": GroupOut, "description": "It was there"}})
def make_group(body: GroupMake, context: CurrentContext, caller: Someone, response: Response) -> GroupOut:
    """Make a group; its name is its key: the same once more changes nothing and answers 200."""
    group, new = groups.make_group(context, caller, body)
    if not new:
        response.status_code = 200
    return group


@routes.get("/groups/{name}")
def show_group(name: Ref, context: CurrentContext, caller: Someone) -> GroupOut:
    """Return a group."""
    return groups.show_group(context, caller, name)


@routes.delete("/groups/{name}", status_code=204)
def delete_group(name: Ref, context: CurrentContext, caller: Someone) -> None:
    """Remove a group that has no members and no runs; what it used stays known."""
    groups.delete_group(context, caller, name)


@routes.put("/groups/{name}/quota")
def set_quota(name: Ref, body: QuotaIn, context: CurrentContext, caller: Someone) -> GroupOut:
    """Change what a group may have at once; not below what it has now."""
    return groups.set_quota(context, caller, name, body)


@routes.get("/groups/{name}/members")
def list_members(name: Ref, context: CurrentContext, caller: Someone) -> list[MemberOut]:
    """Return who is in a group."""
    return groups.list_members(context, caller, name)


@routes.put("/groups/{name}/members/{user}", status_code=204)
def add_member(name: Ref, user: Ref, context: CurrentContext, caller: Someone) -> None:
    """Put a user into a group; the first one becomes the user's default group. Idempotent."""
    groups.add_member(context, caller, name, user)


@routes.delete("/groups/{name}/members/{user}", status_code=204)
def remove_member(
    name: Ref, user: Ref, context: CurrentContext, caller: Someone, stop_runs: bool = False
) -> None:
    """Take a user out of a group; runs continue, charged to it, but cannot grow.

    With `stop_runs` the user's runs that are charged to the group are stopped, also where the user is not in it any more.
    """
    groups.remove_member(context, caller, name, user, stop_runs)
