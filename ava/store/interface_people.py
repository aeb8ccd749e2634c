"""What the ledger can do with people, groups, queues and pools; see interface.py for what holds for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ava.domain.model import Group, Page, Pool, Queue, Quota, User, UserState


class People(Protocol):
    """Users and groups."""

    def add_user(
        self,
        name: str,
        email: str,
        password: str,
        now: datetime,
        *,
        admin: bool = False,
        state: UserState = UserState.PENDING,
        identity: tuple[str, str] | None = None,
        over_pending: bool = False,
        email_confirmed: bool = False,
    ) -> User:
        """Store a person with the next free uid; ``password`` is a hash. 409 where it is taken.

        ``identity``: issuer and subject of the person at the site's log-in service; 409 where they are another's.
        ``over_pending``: accounts of this name or address that were registered by the form and never approved go.
        ``email_confirmed``: the address is known to be the person's.
        """

    def entered(self, name: str, now: datetime) -> None:
        """Keep that a person has logged in."""

    def claim(self, user: str, issuer: str, subject: str, now: datetime) -> None:
        """Keep that an account is that of a name at an issuer, of which it has one; 409 where either is another's already."""

    def remove_user(self, name: str) -> None:
        """Remove an account that was never approved, so that name and address are free; 409 for every other."""

    def identified(self, issuer: str, subject: str) -> User | None:
        """Return whose identity at a log-in service it is; None for nobody's."""

    def spend(self, digest: str, until: datetime) -> bool:
        """Use up what is good for once; False where it was used before. It is remembered until that time."""

    def user(self, name: str) -> User:
        """Return a person by name or id."""

    def users(
        self, *, state: UserState | None = None, after: str | None = None, limit: int = 50
    ) -> Page[User]:
        """Return people by name."""

    def set_user(
        self,
        name: str,
        now: datetime,
        *,
        state: UserState | None = None,
        admin: bool | None = None,
        email: str | None = None,
        email_confirmed: bool = False,
        password: str | None = None,
    ) -> User:
        """Change what is given. Shutting a person out ends their sessions and tokens; 409 for the last administrator.

        Another address is not confirmed unless ``email_confirmed`` says so.
        """

    def ask_confirmation(self, name: str, email: str, link: str, now: datetime) -> None:
        """Have a mail with a link sent to an address that a person has not confirmed yet."""

    def confirm_email(self, name: str, email: str, now: datetime) -> User | None:
        """Keep that an address is a person's; None where the person has another one."""

    def password(self, name: str) -> str:
        """Return the hash."""

    def set_default_group(self, user: str, group: str) -> User:
        """Choose the group that later runs are charged to; 409 for a group that the user is not in."""

    def add_group(self, name: str, quota: Quota, now: datetime) -> Group:
        """Store a group with the next free gid."""

    def group(self, name: str) -> Group:
        """Return a group by name or id, with what it uses."""

    def groups(self, *, user: str | None = None, after: str | None = None, limit: int = 50) -> Page[Group]:
        """Return groups by name: all, or those of a user."""

    def set_quota(self, group: str, quota: Quota, now: datetime) -> Group:
        """Change what a group may have. 409 below what it uses now."""

    def delete_group(self, group: str, now: datetime) -> None:
        """Remove a group. 409 while it has members or runs that are not finished; its charges stay."""

    def add_member(self, group: str, user: str, now: datetime) -> None:
        """Put a user into a group; the first one becomes the default. Doing it twice does no harm."""

    def remove_member(self, group: str, user: str, now: datetime) -> None:
        """Take a user out. Runs go on, charged to it; the default becomes the oldest membership left."""

    def members(self, group: str) -> Sequence[User]:
        """Return a group's users by name."""


class Settings(Protocol):
    """Queues and pools."""

    def put_queue(
        self,
        name: str,
        now: datetime,
        *,
        pool: str | None = None,
        quota: Quota | None = None,
        priority: int | None = None,
        known: bool | None = None,
    ) -> Queue:
        """Make or change a queue; 409 below what it uses. With ``known`` true 404 for a new name, false 409 for a known one."""

    def queues(self) -> Sequence[Queue]:
        """Return all queues, highest priority first, then by name."""

    def delete_queue(self, name: str, now: datetime) -> None:
        """Delete a queue; 409 while a run in it has not finished, and for ``default``."""

    def delete_pool(self, name: str) -> None:
        """Delete a pool; 409 while a queue names it or a run that has not finished goes to it."""

    def put_pool(self, pool: Pool, *, known: bool | None = None) -> Pool:
        """Make or change a pool (``id`` is ignored where the name is known); ``known`` as for queues."""

    def pools(self) -> Sequence[Pool]:
        """Return all pools by name."""
