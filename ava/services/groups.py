"""Groups, their members and quotas."""

from __future__ import annotations

from ava.domain.model import Group
from ava.domain.problems import ApiError
from ava.schemas.common import Paged, QuotaIn
from ava.schemas.users import GroupMake, GroupOut, GroupsQuery, MemberOut
from ava.services import offboarding, pagination, serializers
from ava.services.auth.caller import Caller
from ava.services.lookup import find


def _group(who: Caller, ref: str, action: str) -> Group:
    what = f"group {ref}"
    group = find(who.services.store.group, "group", ref, "path.name")
    who.may(action, group=group, what=what, where="path.name")
    return group


def list_groups(who: Caller, query: GroupsQuery) -> Paged[GroupOut]:
    """Return groups by name, with what they may have and what they have now (U5)."""
    who.may("groups.list-all" if query.all else "groups.list")
    scope = f"groups {query.all}"
    found = who.services.store.groups(
        user=None if query.all else who.me.name, after=pagination.opened(who, query, scope), limit=query.limit
    )
    return pagination.page(who, found, scope, serializers.group)


def make_group(who: Caller, body: GroupMake) -> tuple[GroupOut, bool]:
    """Create a group; return it and whether it is new: its name is its key, and the same once more changes nothing."""
    who.may("groups.make")
    store, quota = who.services.store, serializers.quota_in(body.quota)
    with who.change("groups.make", f"group {body.name}", quota=body.quota.model_dump()):
        try:
            return serializers.group(store.add_group(body.name, quota, who.services.clock())), True
        except ApiError as refused:
            there = _there(who, body.name) if refused.status == 409 else None
            if there is None or there.quota != quota:
                raise
            return serializers.group(there), False


def _there(who: Caller, name: str) -> Group | None:
    try:
        return who.services.store.group(name)
    except ApiError:
        return None


def show_group(who: Caller, name: str) -> GroupOut:
    """Return a group."""
    return serializers.group(_group(who, name, "groups.show"))


def delete_group(who: Caller, name: str) -> None:
    """Remove a group that has no members and no runs; what it used stays known."""
    group = _group(who, name, "groups.delete")
    with who.change("groups.delete", f"group {group.name}"):
        who.services.store.delete_group(group.name, who.services.clock())


def set_quota(who: Caller, name: str, body: QuotaIn) -> GroupOut:
    """Change what a group may have at once; not below what it has now."""
    group = _group(who, name, "groups.quota")
    with who.change("groups.quota", f"group {group.name}", quota=body.model_dump()):
        return serializers.group(
            who.services.store.set_quota(group.name, serializers.quota_in(body), who.services.clock())
        )


def list_members(who: Caller, name: str) -> list[MemberOut]:
    """Return who is in a group."""
    group = _group(who, name, "groups.members")
    members = who.services.store.members(group.name)
    return [
        MemberOut(name=m.name, state=m.state.value, default=m.default_group == group.name) for m in members
    ]


def add_member(who: Caller, name: str, user: str) -> None:
    """Put a user into a group; the first one becomes the user's default group. Twice does no harm."""
    group = _group(who, name, "groups.join")
    person = find(who.services.store.user, "user", user, "path.user")
    with who.change("groups.join", f"group {group.name}", user=person.name):
        who.services.store.add_member(group.name, person.name, who.services.clock())


def remove_member(who: Caller, name: str, user: str, stop_runs: bool = False) -> None:
    """Take a user out of a group; runs continue, charged to it, but cannot grow."""
    group = _group(who, name, "groups.leave")
    person = find(who.services.store.user, "user", user, "path.user")
    with who.change("groups.leave", f"group {group.name}", user=person.name, stop_runs=stop_runs):
        try:
            who.services.store.remove_member(group.name, person.name, who.services.clock())
        except ApiError as refused:
            if not stop_runs or refused.status != 404:
                raise
        if stop_runs:
            offboarding.stop(who, person.name, group.name)
