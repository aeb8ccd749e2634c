"""Accounts of users: list, create, change, disable, invite."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ava.db.offboarding import RunStop
from ava.domain.model import User, UserState
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.common import Paged
from ava.schemas.users import (
    ConfirmationUse,
    DefaultGroup,
    InvitationOut,
    InvitationUse,
    PasswordChange,
    Registration,
    UserChange,
    UserMake,
    UserOut,
    UsersQuery,
)
from ava.services import pagination, serializers
from ava.services.auth import email_confirmation, invitations, registration
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller, new_secret
from ava.services.auth.rate_limits import network
from ava.services.context import Context
from ava.services.lookup import find, user_name


def list_users(context: Context, caller: Caller, query: UsersQuery) -> Paged[UserOut]:
    """Return people by name; those who wait for approval by ``state=pending``."""
    authorize(context, caller, "users.list")
    scope = f"users {query.state}"
    state = UserState(query.state) if query.state else None
    found = context.db.users.list(
        state=state, after=pagination.opened(context, caller, query, scope), limit=query.limit
    )
    return pagination.page(context, caller, found, scope, partial(serializers.user, context))


def make_user(context: Context, caller: Caller, body: UserMake) -> UserOut:
    """Make an account that can be used at once, or, without a password, by who has an invitation or another way to log in."""
    authorize(context, caller, "users.make")
    with record_change(context, caller, "users.make", f"user {body.name}", admin=body.admin):
        hashed = context.passwords.hash(body.password if body.password is not None else new_secret())
        return serializers.user(
            context,
            context.db.users.create(
                body.name,
                body.email,
                hashed,
                context.clock(),
                admin=body.admin,
                state=UserState.ACTIVE,
                over_pending=True,
                email_confirmed=True,
            ),
        )


def find_user(context: Context, caller: Caller, ref: str, action: str) -> User:
    """Return the account that a path names, where the caller may do something to it; ApiError 403, 404."""
    name, db = user_name(caller, ref), context.db
    if name != caller.me.name and not caller.me.admin:
        authorize(context, caller, action, what=Phrase("user {name}", name=name), where="path.name")
    found = find(db.users.get, "user", name, "path.name")
    authorize(
        context, caller, action, owner=found.name, what=Phrase("user {name}", name=name), where="path.name"
    )
    return found


def show_user(context: Context, caller: Caller, name: str) -> UserOut:
    """Return a person; ``me`` is who asks."""
    return serializers.user(context, find_user(context, caller, name, "users.show"))


def change_user(context: Context, caller: Caller, name: str, body: UserChange) -> UserOut:
    """Approve, shut out, make or unmake an administrator, change the address; one transaction with what follows from it."""
    only_email = body.state is None and body.admin is None and body.stop_runs is None
    found = find_user(context, caller, name, "users.email" if only_email else "users.change")
    detail = {k: v for k, v in body.model_dump().items() if v is not None}
    if not detail:
        return serializers.user(context, found)
    state = UserState(body.state) if body.state else None
    with record_change(context, caller, "users.change", f"user {found.name}", **detail):
        # What an administrator types is taken as it is; what users type is confirmed by themselves.
        known = caller.me.admin and body.email is not None
        confirmation = None
        if not known and (body.email is not None or state not in (None, found.state)):
            confirmation = email_confirmation.prepare(context, _changed(found, state, body.email))
        changed = context.db.users.update(
            found.name,
            context.clock(),
            state=state,
            admin=body.admin,
            email=body.email,
            email_confirmed=known,
            confirmation=confirmation,
            stop=RunStop(caller.me.name, caller.address, public_only=not body.stop_runs),
        )
    return serializers.user(context, changed)


def _changed(user: User, state: UserState | None, email: str | None) -> User:
    """Return an account as it will be with another state or address, which is then not confirmed."""
    email = user.email if email is None else email.lower()
    confirmed = user.email_confirmed if email == user.email else None
    return replace(user, state=state or user.state, email=email, email_confirmed=confirmed)


def remove_user(context: Context, caller: Caller, name: str) -> None:
    """Remove an account that was not approved, so that its name and address are free; 409 for every other."""
    found = find_user(context, caller, name, "users.delete")
    with record_change(context, caller, "users.delete", f"user {found.name}", email=found.email):
        context.db.users.delete(found.name)


def set_password(context: Context, caller: Caller, name: str, body: PasswordChange) -> None:
    """Set a password; every other session and all tokens of that person end. One's own wants the current one."""
    found = find_user(context, caller, name, "users.password")
    own = found.name == caller.me.name
    with record_change(context, caller, "users.password", f"user {found.name}"):
        if own:
            context.rates.check("login_account", f"{found.name} itself", "refused passwords of this account")
            kept = context.db.users.password_hash(found.name)
            if not context.passwords.matches(kept, body.current or ""):
                context.rates.spend(
                    "login_account", f"{found.name} itself", "refused passwords of this account"
                )
                raise ApiError(
                    403,
                    Problem(
                        "password-wrong",
                        Phrase("This is not the current password."),
                        "body.current",
                        "another password" if body.current else Phrase("nothing"),
                        Phrase("the current password"),
                        Phrase("Give it, or ask an administrator for a new one."),
                    ),
                )
        hashed = context.passwords.hash(body.new)
        context.db.users.replace_password(found.name, hashed, keep=caller.secret_id if own else None)


def invite(context: Context, caller: Caller, name: str) -> InvitationOut:
    """Make an invitation; the person's page for it is /invitation, after a '#'. It is shown this once."""
    found = find_user(context, caller, name, "users.invite")
    with record_change(context, caller, "users.invite", f"user {found.name}"):
        made, until = invitations.make(context, found)
    return InvitationOut(user=found.name, invitation=made, until=until)


def set_default_group(context: Context, caller: Caller, name: str, body: DefaultGroup) -> UserOut:
    """Choose the group that later runs are charged to; runs that are there stay where they are (U6)."""
    found = find_user(context, caller, name, "users.default-group")
    with record_change(context, caller, "users.default-group", f"user {found.name}", group=body.group):
        return serializers.user(context, context.db.users.set_default_group(found.name, body.group))


def send_confirmation(context: Context, caller: Caller, name: str) -> UserOut:
    """Send the link by which the account's address is confirmed; 429 after some in a day."""
    found = find_user(context, caller, name, "users.send-confirmation")
    with record_change(context, caller, "users.send-confirmation", f"user {found.name}"):
        email_confirmation.send(context, found)
    return serializers.user(context, found)


def use_confirmation(context: Context, caller: Caller, body: ConfirmationUse) -> UserOut:
    """Confirm the address of one's own account by the link that was sent to it; the link is used up."""
    authorize(context, caller, "users.confirm-email")
    with record_change(context, caller, "users.confirm-email", f"user {caller.me.name}"):
        return serializers.user(context, email_confirmation.use(context, caller.me, body.confirmation))


def register(context: Context, caller: Caller, body: Registration) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    registration.check_open(context, caller.address, form=True)
    with record_change(context, caller, "registrations.make", f"user {body.name}"):
        hashed = context.passwords.hash(body.password)
        return serializers.user(
            context, context.db.users.create(body.name, body.email, hashed, context.clock())
        )


def use_invitation(context: Context, caller: Caller, body: InvitationUse) -> None:
    """Choose a password by an invitation; it is used up, and all logins and tokens of the account end."""
    context.rates.spend("login_address", network(caller.address), "logins")
    user = invitations.use(context, body.invitation, body.password)
    context.audit(user.name, "invitations.use", f"user {user.name}", "done", caller.address)
