"""Whether people may make accounts of their own, which wait for an administrator's approval."""

from __future__ import annotations

from ava.api.rates import network
from ava.api.services import Services
from ava.domain.problems import Problem, Refused


def check_open(services: Services, address: str, *, form: bool = False) -> None:
    """Return where somebody at an address may register (by the form), and count it; Refused 403, 429."""
    if not (services.config.form_open if form else services.config.registration):
        raise Refused(
            403,
            Problem(
                "registration-closed",
                "Nobody can register here.",
                "request",
                "a registration",
                "an account made by an administrator",
                "Ask an administrator.",
            ),
        )
    services.rates.spend("registration", network(address), "registrations")
