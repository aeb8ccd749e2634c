"""Groups, their members and quotas."""

from __future__ import annotations

from ava.db.offboarding import RunStop
from ava.domain.model import Group
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError
from ava.schemas.common import Paged, QuotaIn
from ava.schemas.users import GroupMake, GroupOut, GroupsQuery, MemberOut
from ava.services import pagination, serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.lookup import find


def _group(context: Context, caller: Caller, ref: str, action: str) -> Group:
    what = Phrase("group {name}", name=ref)
    group = find(context.db.groups.get, "group", ref, "path.name")
    authorize(context, caller, action, group=group, what=what, where="path.name")
    return group


def list_groups(context: Context, caller: Caller, query: GroupsQuery) -> Paged[GroupOut]:
    """Return groups by name, with what they may have and what they have now (U5)."""
    authorize(context, caller, "groups.list-all" if query.all else "groups.list")
    scope = f"groups {query.all}"
    found = context.db.groups.list(
        user=None if query.all else caller.me.name,
        after=pagination.opened(context, caller, query, scope),
        limit=query.limit,
    )
    return pagination.page(context, caller, found, scope, serializers.group)


def make_group(context: Context, caller: Caller, body: GroupMake) -> tuple[GroupOut, bool]:
    """Create a group; return it and whether it is new: its name is its key, and the same once more changes nothing."""
    authorize(context, caller, "groups.make")
    db, quota = context.db, serializers.quota_in(body.quota)
    with record_change(context, caller, "groups.make", f"group {body.name}", quota=body.quota.model_dump()):
        try:
            return serializers.group(db.groups.create(body.name, quota, context.clock())), True
        except ApiError as refused:
            there = _there(context, caller, body.name) if refused.status == 409 else None
            if there is None or there.quota != quota:
                raise
            return serializers.group(there), False


def _there(context: Context, caller: Caller, name: str) -> Group | None:
    try:
        return context.db.groups.get(name)
    except ApiError:
        return None


def show_group(context: Context, caller: Caller, name: str) -> GroupOut:
    """Return a group."""
    return serializers.group(_group(context, caller, name, "groups.show"))


def delete_group(context: Context, caller: Caller, name: str) -> None:
    """Remove a group that has no members and no runs; what it used stays known."""
    group = _group(context, caller, name, "groups.delete")
    with record_change(context, caller, "groups.delete", f"group {group.name}"):
        context.db.groups.delete(group.name, context.clock())


def set_quota(context: Context, caller: Caller, name: str, body: QuotaIn) -> GroupOut:
    """Change what a group may have at once; not below what it has now."""
    group = _group(context, caller, name, "groups.quota")
    with record_change(context, caller, "groups.quota", f"group {group.name}", quota=body.model_dump()):
        return serializers.group(
            context.db.groups.set_quota(group.name, serializers.quota_in(body), context.clock())
        )


def list_members(context: Context, caller: Caller, name: str) -> list[MemberOut]:
    """Return who is in a group."""
    group = _group(context, caller, name, "groups.members")
    members = context.db.groups.members(group.name)
    return [
        MemberOut(name=m.name, state=m.state.value, default=m.default_group == group.name) for m in members
    ]


def add_member(context: Context, caller: Caller, name: str, user: str) -> None:
    """Put a user into a group; the first one becomes the user's default group. Idempotent."""
    group = _group(context, caller, name, "groups.join")
    person = find(context.db.users.get, "user", user, "path.user")
    with record_change(context, caller, "groups.join", f"group {group.name}", user=person.name):
        context.db.groups.add_member(group.name, person.name, context.clock())


def remove_member(context: Context, caller: Caller, name: str, user: str, stop_runs: bool = False) -> None:
    """Take a user out of a group; runs continue, charged to it, but cannot grow, or are stopped in the same transaction."""
    group = _group(context, caller, name, "groups.leave")
    person = find(context.db.users.get, "user", user, "path.user")
    with record_change(
        context, caller, "groups.leave", f"group {group.name}", user=person.name, stop_runs=stop_runs
    ):
        context.db.groups.remove_member(
            group.name,
            person.name,
            context.clock(),
            stop=RunStop(caller.me.name, caller.address) if stop_runs else None,
        )
