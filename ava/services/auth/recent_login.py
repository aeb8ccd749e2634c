"""Whether a person has logged in lately at the site's directory or login service, which alone knows who was locked there."""

from __future__ import annotations

from datetime import datetime, timedelta

from ava.domain.model import User
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.context import Context


def since(context: Context) -> datetime | None:
    """Return when the last login must have been; None where any will do: the site has neither directory nor provider."""
    days = context.config.login_days
    if not days or (context.directory is None and context.provider is None):
        return None
    return context.clock() - timedelta(days=days)


def is_recent(context: Context, user: User) -> bool:
    """Whether sessions, tokens and ssh keys of a person may be used."""
    least = since(context)
    return least is None or (user.entered or user.created) >= least


def too_old(context: Context) -> ApiError:
    """Return the refusal of a token, or a session, whose owner has not logged in lately."""
    days = context.config.login_days
    return ApiError(
        401,
        Problem(
            "login-too-old",
            Phrase("The owner of this token has not logged in for too long."),
            "token",
            Phrase("no login within {days} days", days=days),
            Phrase("a login since then"),
            Phrase("Log in once, in the browser or by `ava login`; the token is good again then."),
        ),
    )
