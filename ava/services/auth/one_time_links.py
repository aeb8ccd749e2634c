"""Links that are good once, for one account, until a time, and while something of the account stays as it was.

What they say is sealed with the sealing key and kept nowhere.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography.fernet import InvalidToken

from ava.domain.model import User, UserState
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, conflict
from ava.services.auth.caller import digest
from ava.services.context import Context


class Link(NamedTuple):
    """What a link says: the account's id, the digest of what must have stayed as it was, and when it ends."""

    user: str
    kept: str
    until: datetime


def make(context: Context, kind: str, user: User, kept: str, days: int) -> tuple[str, datetime]:
    """Return a sealed link of a kind, and when it ends; ``kept`` is what must stay as it is."""
    until = context.clock() + timedelta(days=days)
    return context.sealer.seal(json.dumps([kind, user.id, digest(kept), until.timestamp()])), until


def read(context: Context, kind: str, sealed: str) -> Link | None:
    """Return what a link says; None for one of another kind, one that was not made here, or that has ended."""
    try:
        found, user, kept, until = json.loads(context.sealer.open(sealed))
    except (InvalidToken, ValueError, TypeError):
        return None
    if found != kind or context.clock().timestamp() >= until:
        return None
    return Link(user, kept, datetime.fromtimestamp(until, UTC))


def spend(context: Context, kind: str, sealed: str, link: Link) -> bool:
    """Use a link up; return whether it was not used before: of two who use it at once one is the first."""
    return context.db.secrets.use_nonce(digest(f"{kind} {sealed}"), link.until)


def inactive(user: User) -> ApiError | None:
    """Return why an account gets no link: it cannot be used; None where it can."""
    if user.state is UserState.ACTIVE:
        return None
    return conflict(
        "account-not-active",
        Phrase("{user} cannot log in.", user=user.name),
        "path.name",
        Phrase("Approve the account first."),
        found=user.state.value,
        wanted=Phrase("active"),
    )
