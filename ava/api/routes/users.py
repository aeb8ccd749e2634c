"""People."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import Paged
from ava.schemas.users import (
    DefaultGroup,
    InvitationOut,
    PasswordChange,
    UserChange,
    UserMake,
    UserOut,
    UsersQuery,
)
from ava.services import users

routes = router("users")


@routes.get("/users")
def list_users(
    context: CurrentContext, caller: Someone, query: Annotated[UsersQuery, Query()]
) -> Paged[UserOut]:
    """Return people by name; those who wait for approval by ``state=pending``."""
    return users.list_users(context, caller, query)


@routes.post("/users", status_code=201)
def make_user(body: UserMake, context: CurrentContext, caller: Someone) -> UserOut:
    """Make an account that can be used at once, or, without a password, by who has an invitation or another way to log in."""
    return users.make_user(context, caller, body)


@routes.get("/users/{name}")
def show_user(name: Ref, context: CurrentContext, caller: Someone) -> UserOut:
    """Return a person; ``me`` is who asks."""
    return users.show_user(context, caller, name)


@routes.patch("/users/{name}")
def change_user(name: Ref, body: UserChange, context: CurrentContext, caller: Someone) -> UserOut:
    """Approve, shut out, make or unmake an administrator, change the address.

    An address that an administrator sets is confirmed; to one that a user sets a link is sent by which it is confirmed.
    Shutting out ends sessions and tokens and stops the person's public services; with `stop_runs` all that they run.
    """
    return users.change_user(context, caller, name, body)


@routes.delete("/users/{name}", status_code=204)
def remove_user(name: Ref, context: CurrentContext, caller: Someone) -> None:
    """Remove an account that was not approved, so that its name and address are free; 409 for every other."""
    users.remove_user(context, caller, name)


@routes.put("/users/{name}/password", status_code=204)
def set_password(name: Ref, body: PasswordChange, context: CurrentContext, caller: Someone) -> None:
    """Set a password; every other session and all tokens of that person end. One's own wants the current one."""
    users.set_password(context, caller, name, body)


@routes.post("/users/{name}/invitation", status_code=201)
def invite(name: Ref, context: CurrentContext, caller: Someone) -> InvitationOut:
    """Make an invitation; the person's page for it is /invitation, after a '#'. It is shown this once."""
    return users.invite(context, caller, name)


@routes.put("/users/{name}/default-group")
def set_default_group(name: Ref, body: DefaultGroup, context: CurrentContext, caller: Someone) -> UserOut:
    """Choose the group that later runs are charged to; runs that are there stay where they are (U6)."""
    return users.set_default_group(context, caller, name, body)
