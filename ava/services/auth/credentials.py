"""New sessions and tokens: bounded in number, and those that have ended are cleared away."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.auth.caller import digest, new_secret
from ava.services.context import Context

SESSIONS, TOKENS = 50, 100
"""Of one user at once."""


def make(
    context: Context,
    user: str,
    kind: str,
    until: datetime,
    label: str,
    scopes: Collection[str] | None = None,
) -> tuple[str, str]:
    """Make a session (the oldest gives way) or a token; return its id and its secret.

    Raises:
        ApiError: 409 for more tokens than a user may have.
    """
    db, now = context.db, context.clock()
    there = list(db.secrets.list(user, kind))
    for ended in (s for s in there if s["until"] is not None and s["until"] <= now):
        _end(context, user, ended["id"])
    open_now = [s for s in there if s["until"] is None or s["until"] > now]
    if kind == "token" and len(open_now) >= TOKENS:
        raise ApiError(
            409,
            Problem(
                "too-many-tokens",
                Phrase("You have too many tokens."),
                "tokens",
                str(len(open_now)),
                Phrase("at most {most}", most=TOKENS),
                Phrase("End some that are no longer used."),
            ),
        )
    if kind == "session":
        for oldest in open_now[: max(0, len(open_now) - SESSIONS + 1)]:
            _end(context, user, oldest["id"])
    secret = new_secret()
    id = db.secrets.create(user, kind, digest(secret), now, until=until, label=label, scopes=scopes)
    return id, secret


def _end(context: Context, user: str, id: str) -> None:
    try:
        context.db.secrets.delete(user, id)
    except ApiError as refused:
        # Another request was faster.
        if refused.status != 404:
            raise
