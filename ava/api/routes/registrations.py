"""People register themselves; an administrator approves each."""

from __future__ import annotations

from ava.api.routes.common import router
from ava.schemas.users import Registration, UserOut
from ava.services import serializers
from ava.services.auth import registration
from ava.services.auth.caller import Anybody

routes = router("registration")


@routes.post("/registrations", status_code=201)
def register(body: Registration, who: Anybody) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    services = who.services
    registration.check_open(services, who.address, form=True)
    with who.change("registrations.make", f"user {body.name}"):
        hashed = services.passwords.hash(body.password)
        return serializers.user(
            services, services.store.add_user(body.name, body.email, hashed, services.clock())
        )
