"""Users confirm their e-mail addresses."""

from __future__ import annotations

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.users import ConfirmationUse, UserOut
from ava.services import users

routes = router("users")


@routes.post("/users/{name}/email-confirmation", status_code=202)
def send_confirmation(name: Ref, context: CurrentContext, caller: Someone) -> UserOut:
    """Send the link by which the account's address is confirmed; 429 after some in a day."""
    return users.send_confirmation(context, caller, name)


@routes.post("/email-confirmations")
def use_confirmation(body: ConfirmationUse, context: CurrentContext, caller: Someone) -> UserOut:
    """Confirm the address of one's own account by the link that was sent to it; the link is used up."""
    return users.use_confirmation(context, caller, body)
