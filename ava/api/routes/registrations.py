"""People register themselves; an administrator approves each."""

from __future__ import annotations

from ava.api import shapes
from ava.api.identity import Anybody
from ava.api.rates import network
from ava.api.routes.common import router
from ava.api.schemas.people import Registration, UserOut
from ava.domain.problems import Problem, Refused

routes = router("registration")


@routes.post("/registrations", status_code=201)
def register(body: Registration, who: Anybody) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    services = who.services
    if not services.config.registration:
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
    services.rates.spend("registration", network(who.address), "registrations")
    with who.change("registrations.make", f"user {body.name}"):
        hashed = services.passwords.hash(body.password)
        return shapes.user(services.store.add_user(body.name, body.email, hashed, services.clock()))
