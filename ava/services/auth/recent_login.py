"""Whether a person has logged in lately at the site's directory or login service, which alone knows who was locked there."""

from __future__ import annotations

from datetime import datetime, timedelta

from ava.domain.model import User
from ava.domain.problems import ApiError, Problem
from ava.services.context import Context


def since(services: Context) -> datetime | None:
    """Return when the last login must have been; None where any will do: the site has neither directory nor provider."""
    days = services.config.login_days
    if not days or (services.directory is None and services.provider is None):
        return None
    return services.clock() - timedelta(days=days)


def is_recent(services: Context, user: User) -> bool:
    """Whether sessions, tokens and ssh keys of a person may be used."""
    least = since(services)
    return least is None or (user.entered or user.created) >= least


def too_old(services: Context) -> ApiError:
    """Return the refusal of a token, or a session, whose owner has not logged in lately."""
    days = services.config.login_days
    return ApiError(
        401,
        Problem(
            "login-too-old",
            "The owner of this token has not logged in for too long.",
            "token",
            f"no login within {days} days",
            "a login since then",
            "Log in once, in the browser or by `ava login`; the token is good again then.",
        ),
    )
