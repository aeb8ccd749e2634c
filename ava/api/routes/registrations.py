"""People register themselves; an administrator approves each."""

from __future__ import annotations

from ava.http.dependencies import AnyCaller, CurrentContext
from ava.http.routing import router
from ava.schemas.users import Registration, UserOut
from ava.services import users

routes = router("registration")


@routes.post("/registrations", status_code=201)
def register(body: Registration, context: CurrentContext, caller: AnyCaller) -> UserOut:
    """Ask for an account; it can be used once an administrator has approved it."""
    return users.register(context, caller, body)
