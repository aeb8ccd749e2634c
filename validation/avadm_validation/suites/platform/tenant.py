"""The suite's own users and groups: made for a check, taken away at its end; a killed run's by the next run.

The database keeps who was charged, so users cannot be removed: they have fixed names and are disabled, and the administrator's
account that made them too. Groups are removed; each measurement has groups of its own, also where a check is measured again,
since a removed group's name is never given again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

import tenacity

from ava.client import ApiError, Client
from ava.client.transport import TRIES, Unreachable
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.platform import platform_client, polling

PREFIX = "avadm-accept"
"""How the suite's users begin."""
GROUPS = "accept-"
"""How its groups begin."""
ADMIN = f"{PREFIX}-admin"
BOSS = "platform-administrator"
"""Under which the administrator's client is left for the run's checks."""
Quota = Mapping[str, int | None]
T = TypeVar("T")


@dataclass(frozen=True)
class Tenant:
    """A user of the platform.

    Attributes:
        user: the client, logged in by a token.
        admin: the administrator's.
        name: the user's.
        groups: those that the user is in, the default one first.
        password: the user's, for a browser; kept in memory alone.
        token: of the client, for the command line; the same.
    """

    user: Client
    admin: Client
    name: str
    groups: tuple[str, ...]
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


def _password() -> str:
    return secrets.token_urlsafe(24)


def log_in(ctx: Context) -> Client:
    """Make the run's administrator and return its client, logged in; MeasureError where that fails.

    The password is made here, goes to the master by standard input and to the API by TLS, and is kept nowhere.
    """
    password = _password()
    platform_client.target(ctx).make_admin(ctx.rec.fleet, ADMIN, password)
    found = platform_client.client(ctx)
    try:
        _again(lambda: found.login(ADMIN, password, label="avadm accept", days=1))
    except ApiError as error:
        raise MeasureError(f"{platform_client.target(ctx).host}: {error}") from error
    ctx.shared[BOSS] = found
    return found


def boss(ctx: Context) -> Client:
    """Return the administrator's client; MeasureError where the preconditions have made none."""
    found = ctx.shared.get(BOSS)
    if not isinstance(found, Client):
        raise MeasureError("no administrator's account was made")
    return found


@contextmanager
def tenant(ctx: Context, quotas: Sequence[Quota], part: str = "") -> Iterator[Tenant]:
    """Have a user in as many groups as there are quotas; both are taken away again, with all that runs.

    Args:
        ctx: the check's view of the run.
        quotas: of each group; the first one is the default.
        part: a letter for each of the users that a check has at a time: with more a group's name would be too long.

    Raises:
        MeasureError: the platform refuses it.
    """
    admin, word = boss(ctx), ctx.rec.check.lower().removeprefix("a-")
    word += part
    name = f"{PREFIX}-{word}"
    # The run's time, and what no earlier group has; 32 characters at most.
    unique = f"{ctx.run[:16]}{secrets.token_hex(2)}"
    groups = tuple(f"{GROUPS}{unique}-{word}{i or ''}"[:32] for i in range(len(quotas)))
    try:
        user, password, token = _user(ctx, admin, name)
        # Of a measurement before this one, when the platform did not answer: the user has no groups but these.
        earlier = [group.name for group in user.groups() if group.name.startswith(GROUPS)]
        for text in remove(admin, [], earlier, polling.EVERY_S):
            ctx.tell(text)
        for group, quota in zip(groups, quotas, strict=True):
            admin.make_group(group, dict(quota))
            admin.add_member(group, name)
        user.set_default_group(groups[0])
        try:
            yield Tenant(user, admin, name, groups, password, token)
        finally:
            ctx.tell("end what runs, remove the user and the groups")
            _end(admin, groups, float(ctx.params["end_s"]))
            with suppress(ApiError):
                for definition in list(user.definitions()):
                    user.delete_definition(definition.id)
    except ApiError as error:
        raise MeasureError(f"{platform_client.target(ctx).host}: {error}") from error
    finally:
        for text in remove(admin, [name], groups, polling.EVERY_S):  # they had their time to end
            ctx.tell(text)


def _user(ctx: Context, admin: Client, name: str) -> tuple[Client, str, str]:
    """Return a new login of a user who was made or is let in again: the client, a password, a token."""
    password = _password()
    try:
        _again(lambda: admin.make_user(name, f"{name}@localhost.invalid", password))
    except ApiError as error:
        if error.status != 409:
            raise
        _again(lambda: admin.set_password_of(name, password))
        admin.change_user(name, state="active")
    found = platform_client.client(ctx)
    token = _again(lambda: found.login(name, password, label="avadm accept", days=1))
    return found, password, token


def _again(ask: Callable[[], T]) -> T:
    """Ask for what may be done twice, again where no answer came: the ingress' address moves while other checks are made."""
    for attempt in tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Unreachable),
        stop=tenacity.stop_after_attempt(TRIES),
        wait=tenacity.wait_fixed(1),
        reraise=True,
    ):
        with attempt:
            found = ask()
    return found


def ours(admin: Client) -> tuple[list[str], list[str]]:
    """Return the users, but for the administrator, and the groups of acceptance runs that are there."""
    users = [u.name for u in admin.users(state="active") if u.name.startswith(f"{PREFIX}-")]
    groups = [g.name for g in admin.groups(all=True) if g.name.startswith(GROUPS)]
    return [u for u in users if u != ADMIN], groups


def remove(admin: Client, users: Sequence[str], groups: Sequence[str], seconds: float) -> list[str]:
    """End what runs of users and groups, remove the groups, disable the users; return what stayed. Nothing is raised."""
    stayed = []
    _end(admin, groups, seconds)
    try:
        for user in users:
            admin.change_user(user, state="disabled")
    except ApiError as error:
        if error.status != 404:
            stayed.append(f"Users of acceptance may have stayed: {error}")
    for group in groups:
        try:
            for member in admin.members(group):
                admin.remove_member(group, member.name)
            admin.delete_group(group)
        except ApiError as error:
            if error.status != 404:
                stayed.append(f"The group {group} of the platform has stayed: {error}")
    return stayed


def _end(admin: Client, groups: Sequence[str], seconds: float) -> None:
    """Have all runs of groups end; what does not shows when its group is removed."""
    with suppress(ApiError):
        polling.until(lambda: _ended(admin, groups), seconds)


def _ended(admin: Client, groups: Sequence[str]) -> bool:
    """Ask for the end of all runs of groups; return whether all have ended."""
    left = 0
    for group in groups:
        try:
            there = [r for r in admin.runs(all=True, group=group) if r.phase != "finished"]
        except ApiError as error:
            if error.status == 404:
                continue
            raise
        for run in there:
            if run.stop is None:
                admin.stop(run.id)
        left += len(there)
    return not left


def leave(admin: Client, seconds: float) -> list[str]:
    """Take away all that acceptance runs made, the administrator's account last; return what stayed. Nothing is raised."""
    try:
        stayed = remove(admin, *ours(admin), seconds)
    except ApiError as error:
        stayed = [f"Users and groups of acceptance may have stayed: {error}"]
    try:
        admin.change_user(ADMIN, state="disabled")
    except ApiError as error:
        if any(p.code == "last-administrator" for p in error.problems):
            # No one knows its password any more, and its tokens end here.
            stayed.append(
                f"The account {ADMIN} stays, being the platform's only administrator: make your own by "
                "`avadm ava create-admin`; its password is not stored"
            )
        else:
            stayed.append(f"The account {ADMIN} could not be disabled: {error}")
        with suppress(ApiError):
            admin.logout()
    return stayed
