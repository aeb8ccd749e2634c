"""Users, groups, logins, keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ava.schemas.common import (
    Amounts,
    Answer,
    AnyPassword,
    Email,
    GroupName,
    Label,
    PageQuery,
    Password,
    QuotaIn,
    QuotaOut,
    Request,
    UserName,
)

Scope = Literal["read", "runs", "registry"]
KeyKind = Literal["ssh", "deploy"]


class Registration(Request):
    """Somebody who wants to use the platform."""

    name: UserName
    email: Email
    password: Password


class UserMake(Request):
    """A user whom an administrator makes; may log in at once. Without a password: when an invitation has been used."""

    name: UserName
    email: Email
    password: Password | None = None
    admin: bool = False


class UserChange(Request):
    """What is to change; what is left out stays. ``stop_runs``: with state disabled, all the user's runs are stopped."""

    email: Email | None = None
    admin: bool | None = None
    state: Literal["pending", "active", "disabled"] | None = None
    stop_runs: bool | None = None


class PasswordChange(Request):
    """A new password; ``current`` is wanted of who changes their own."""

    new: Password
    current: AnyPassword | None = None


class InvitationUse(Request):
    """The password that a person chooses by an invitation."""

    invitation: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    password: Password


class ConfirmationUse(Request):
    """What the link in a mail has behind ``confirmation=``."""

    confirmation: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class InvitationOut(Answer):
    """An invitation; shown this once."""

    user: str
    invitation: str
    until: datetime


class DefaultGroup(Request):
    """The group that later runs are charged to."""

    group: GroupName


class UserOut(Answer):
    """A person. ``email_confirmed`` is null where the site sends no mail."""

    id: str
    name: str
    email: str
    email_confirmed: bool | None = None
    uid: int
    admin: bool
    state: str
    default_group: str | None
    created: datetime


class Login(Request):
    """Name and password."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    password: AnyPassword


class SessionOut(Answer):
    """A login; ``csrf`` goes into X-CSRF-Token of every change that is made with the cookie."""

    user: UserOut
    csrf: str
    kind: str
    until: datetime | None = None


class TokenMake(Request):
    """A token for programs."""

    label: Label = ""
    days: Annotated[int, Field(ge=1, le=3660)] = 30
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)] | None = None


class SecretOut(Answer):
    """A session or token, without its secret."""

    id: str
    label: str
    created: datetime
    until: datetime | None = None
    used: datetime | None = None
    scopes: list[Scope] | None = None


class TokenOut(SecretOut):
    """A new token; ``token`` is shown this once."""

    token: str


class RegistryTokenOut(Answer):
    """A token for the site's image registry, as docker's token protocol has it; ``expires_in`` seconds after ``issued_at``."""

    token: str
    access_token: str
    expires_in: int
    issued_at: datetime


class KeyPut(Request):
    """An ssh public key as in authorized_keys, or a deploy key (private, OpenSSH or PEM, without passphrase)."""

    value: Annotated[str, StringConstraints(min_length=1, max_length=16_384)] | None = None
    private_key: Annotated[str, StringConstraints(min_length=1, max_length=16_384)] | None = None


class KeyOut(Answer):
    """A key; of a deploy key the public part alone."""

    name: str
    kind: str
    value: str
    fingerprint: str


class GroupMake(Request):
    """A group."""

    name: GroupName
    quota: QuotaIn = QuotaIn()


class GroupOut(Answer):
    """A group with what it may have and what it has."""

    id: str
    name: str
    gid: int
    quota: QuotaOut
    used: Amounts
    created: datetime


class MemberOut(Answer):
    """Who is in a group; what members may know of each other."""

    name: str
    state: str
    default: bool


class AuditOut(Answer):
    """A line of the audit log."""

    time: datetime
    who: str
    action: str
    object: str
    outcome: str
    address: str
    detail: dict[str, Any]


class UsersQuery(PageQuery):
    """Which users."""

    state: Literal["pending", "active", "disabled"] | None = None


class GroupsQuery(PageQuery):
    """Which groups."""

    all: bool = False
    """All for administrators; else one's own."""


class AuditQuery(PageQuery):
    """Which lines."""

    who: Annotated[str, Field(max_length=100)] | None = None
    object: Annotated[str, Field(max_length=300)] | None = None
    action: Annotated[str, Field(max_length=100)] | None = None
