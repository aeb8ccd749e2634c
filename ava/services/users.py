"""Accounts of users: list, create, change, disable, invite."""

from __future__ import annotations

from functools import partial

from ava.domain.model import User, UserState
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
from ava.services import offboarding, pagination, serializers
from ava.services.auth import email_confirmation, invitations, registration
from ava.services.auth.caller import Caller, new_secret
from ava.services.auth.rate_limits import network
from ava.services.lookup import find, user_name


def list_users(who: Caller, query: UsersQuery) -> Paged[UserOut]:
    """Return people by name; those who wait for approval by ``state=pending``."""
    who.may("users.list")
    scope = f"users {query.state}"
    state = UserState(query.state) if query.state else None
    found = who.services.store.users(
        state=state, after=pagination.opened(who, query, scope), limit=query.limit
    )
    return pagination.page(who, found, scope, partial(serializers.user, who.services))


def make_user(who: Caller, body: UserMake) -> UserOut:
    """Make an account that can be used at once, or, without a password, by who has an invitation or another way to log in."""
    who.may("users.make")
    services = who.services
    with who.change("users.make", f"user {body.name}", admin=body.admin):
        hashed = services.passwords.hash(body.password if body.password is not None else new_secret())
        return serializers.user(
            services,
            services.store.add_user(
                body.name,
                body.email,
                hashed,
                services.clock(),
                admin=body.admin,
                state=UserState.ACTIVE,
                over_pending=True,
                email_confirmed=True,
            ),
        )


def find_user(who: Caller, ref: str, action: str) -> User:
    """Return the account that a path names, where the caller may do something to it; ApiError 403, 404."""
    name, store = user_name(who, ref), who.services.store
    if name != who.me.name and not who.me.admin:
        who.may(action, what=f"user {name}", where="path.name")
    found = find(store.user, "user", name, "path.name")
    who.may(action, owner=found.name, what=f"user {name}", where="path.name")
    return found


def show_user(who: Caller, name: str) -> UserOut:
    """Return a person; ``me`` is who asks."""
    return serializers.user(who.services, find_user(who, name, "users.show"))


def change_user(who: Caller, name: str, body: UserChange) -> UserOut:
    """Approve, shut out, make or unmake an administrator, change the address."""
    only_email = body.state is None and body.admin is None and body.stop_runs is None
    found = find_user(who, name, "users.email" if only_email else "users.change")
    detail = {k: v for k, v in body.model_dump().items() if v is not None}
    if not detail:
        return serializers.user(who.services, found)
    with who.change("users.change", f"user {found.name}", **detail):
        changed = who.services.store.set_user(
            found.name,
            who.services.clock(),
            state=UserState(body.state) if body.state else None,
            admin=body.admin,
            email=body.email,
            # What an administrator types is taken as it is; what users type is confirmed by themselves.
            email_confirmed=who.me.admin,
        )
        if body.email is not None or changed.state is not found.state:
            email_confirmation.offer(who.services, changed)
        if changed.state is not UserState.ACTIVE:
            (offboarding.stop if body.stop_runs else offboarding.stop_public)(who, changed.name)
    return serializers.user(who.services, changed)


def remove_user(who: Caller, name: str) -> None:
    """Remove an account that nobody has approved, so that its name and address are free; 409 for every other."""
    found = find_user(who, name, "users.delete")
    with who.change("users.delete", f"user {found.name}", email=found.email):
        who.services.store.remove_user(found.name)


def set_password(who: Caller, name: str, body: PasswordChange) -> None:
    """Set a password; every other session and all tokens of that person end. One's own wants the current one."""
    found, services = find_user(who, name, "users.password"), who.services
    own = found.name == who.me.name
    with who.change("users.password", f"user {found.name}"):
        if own:
            services.rates.check("login_account", f"{found.name} itself", "refused passwords of this account")
            kept = services.store.password(found.name)
            if not services.passwords.matches(kept, body.current or ""):
                services.rates.spend(
                    "login_account", f"{found.name} itself", "refused passwords of this account"
                )
                raise ApiError(
                    403,
                    Problem(
                        "password-wrong",
                        "This is not the current password.",
                        "body.current",
                        "another password" if body.current else "nothing",
                        "the current password",
                        "Give it, or ask an administrator for a new one.",
                    ),
                )
        services.store.set_user(found.name, services.clock(), password=services.passwords.hash(body.new))
        for kind in ("session", "token"):
            for secret in services.store.secrets(found.name, kind):
                if not own or secret["id"] != who.secret_id:
                    services.store.end_secret(found.name, secret["id"])


def invite(who: Caller, name: str) -> InvitationOut:
    """Make an invitation; the person's page for it is /invitation, after a '#'. It is shown this once."""
    found = find_user(who, name, "users.invite")
    with who.change("users.invite", f"user {found.name}"):
        made, until = invitations.make(who.services, found)
    return InvitationOut(user=found.name, invitation=made, until=until)


def set_default_group(who: Caller, name: str, body: DefaultGroup) -> UserOut:
    """Choose the group that later runs are charged to; runs that are there stay where they are (U6)."""
    found = find_user(who, name, "users.default-group")
    with who.change("users.default-group", f"user {found.name}", group=body.group):
        return serializers.user(who.services, who.services.store.set_default_group(found.name, body.group))


def send_confirmation(who: Caller, name: str) -> UserOut:
    """Send the link by which the account's address is confirmed; 429 after some in a day."""
    found = find_user(who, name, "users.send-confirmation")
    with who.change("users.send-confirmation", f"user {found.name}"):
        email_confirmation.send(who.services, found)
    return serializers.user(who.services, found)


def use_confirmation(who: Caller, body: ConfirmationUse) -> UserOut:
    """Confirm the address of one's own account by the link that was sent to it; the link is used up."""
    who.may("users.confirm-email")
    with who.change("users.confirm-email", f"user {who.me.name}"):
        return serializers.user(who.services, email_confirmation.use(who.services, who.me, body.confirmation))


def register(who: Caller, body: Registration) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    services = who.services
    registration.check_open(services, who.address, form=True)
    with who.change("registrations.make", f"user {body.name}"):
        hashed = services.passwords.hash(body.password)
        return serializers.user(
            services, services.store.add_user(body.name, body.email, hashed, services.clock())
        )


def use_invitation(who: Caller, body: InvitationUse) -> None:
    """Choose a password by an invitation; it is used up, and all logins and tokens of the account end."""
    services = who.services
    services.rates.spend("login_address", network(who.address), "logins")
    user = invitations.use(services, body.invitation, body.password)
    services.audit(user.name, "invitations.use", f"user {user.name}", "done", who.address)
