"""Whether people may make accounts of their own, which wait for an administrator's approval."""

from __future__ import annotations

from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.services.auth.rate_limits import network
from ava.services.context import Context


def check_open(context: Context, address: str, *, form: bool = False) -> None:
    """Return where somebody at an address may register (by the form), and count it; ApiError 403, 429."""
    if not (context.config.form_open if form else context.config.registration):
        raise ApiError(
            403,
            Problem(
                "registration-closed",
                Phrase("Registration is closed."),
                "request",
                Phrase("a registration"),
                Phrase("an account made by an administrator"),
                Phrase("Ask an administrator."),
            ),
        )
    context.rates.spend("registration", network(address), "registrations")
