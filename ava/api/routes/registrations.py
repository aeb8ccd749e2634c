"""People register themselves; an administrator approves each."""

from __future__ import annotations

from ava.http.routing import router
from ava.schemas.users import Registration, UserOut
from ava.services import users
from ava.services.auth.caller import Anybody

routes = router("registration")


@routes.post("/registrations", status_code=201)
def register(body: Registration, who: Anybody) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    return users.register(who, body)
