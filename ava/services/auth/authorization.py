"""Authorization of a caller, and the audit log of changes that callers make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ava.domain.model import Group
from ava.domain.problems import ApiError
from ava.services.auth import permissions
from ava.services.auth import scopes as token_scopes
from ava.services.auth.caller import Caller
from ava.services.context import Context


def relations(
    context: Context, caller: Caller, owner: str | None = None, group: Group | None = None
) -> set[str]:
    """Return what the caller is to an object of an owner (name) or to a group."""
    found = {"anyone"}
    if caller.user is not None:
        found |= {"user"} | ({"admin"} if caller.user.admin else set())
        if owner is not None and owner == caller.user.name:
            found.add("owner")
        if group is not None and is_member(context, caller, group):
            found.add("member")
    return found


def is_member(context: Context, caller: Caller, group: Group) -> bool:
    """Whether the caller is in a group."""
    return caller.user is not None and any(
        m.id == caller.user.id for m in context.db.groups.members(group.name)
    )


def authorize(
    context: Context,
    caller: Caller,
    action: str,
    *,
    owner: str | None = None,
    group: Group | None = None,
    what: str = "",
    where: str = "",
) -> None:
    """Return if the caller (permissions.yml), and its token (scopes.py), may do it; ApiError 401, 403, 404 else."""
    mine = relations(context, caller, owner, group)
    if caller.user is None and not permissions.allowed(action, mine):
        raise permissions.unauthenticated()
    try:
        token_scopes.permit(caller.scopes, action)
        permissions.permit(action, mine, what=what, where=where or what or "request")
    except ApiError:
        # Once a minute: refused requests have no rate, and the audit log has no end.
        subject = caller.user.name if caller.user else caller.address
        if context.rates.allows("refusal", f"{subject} {action}"):
            _note(context, caller, action, what, "refused", {})
        raise


@contextmanager
def record_change(
    context: Context, caller: Caller, action: str, object: str, **detail: Any
) -> Iterator[None]:
    """Count a change against the caller's limit, and write it down when it is done or was refused."""
    if caller.user is not None:
        context.rates.spend("change", caller.user.id, "changes")
    try:
        yield
    except ApiError as refused:
        codes = [p.code for p in refused.problems][:10]
        _note(context, caller, action, object, "refused", {**detail, "codes": codes})
        raise
    _note(context, caller, action, object, "done", detail)


def _note(
    context: Context, caller: Caller, action: str, object: str, outcome: str, detail: Mapping[str, Any]
) -> None:
    who = caller.user.name if caller.user else "nobody"
    context.audit(who, action, object, outcome, caller.address, detail)
