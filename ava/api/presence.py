"""Whether a person has logged in lately at the site's directory or log-in service, which alone knows who was locked there."""

from __future__ import annotations

from datetime import timedelta

from ava.api.services import Services
from ava.domain.model import User
from ava.domain.problems import Problem, Refused


def is_recent(services: Services, user: User) -> bool:
    """Whether tokens and ssh keys of a person may be used; always where the site has neither directory nor provider."""
    days = services.config.login_days
    if not days or (services.directory is None and services.provider is None):
        return True
    return services.clock() - (user.entered or user.created) <= timedelta(days=days)


def too_old(services: Services) -> Refused:
    """Return the refusal of a token whose owner has not logged in lately."""
    days = services.config.login_days
    return Refused(
        401,
        Problem(
            "log-in-too-old",
            "The owner of this token has not logged in for too long.",
            "token",
            f"no log-in within {days} days",
            "a log-in since then",
            "Log in once, in the browser or by `ava login`; the token is good again then.",
        ),
    )
