"""Users confirm their e-mail addresses."""

from __future__ import annotations

from ava.http.routing import Ref, router
from ava.schemas.users import ConfirmationUse, UserOut
from ava.services import users
from ava.services.auth.caller import Someone

routes = router("users")


@routes.post("/users/{name}/email-confirmation", status_code=202)
def send_confirmation(name: Ref, who: Someone) -> UserOut:
    """Send the link by which the account's address is confirmed; 429 after some in a day."""
    return users.send_confirmation(who, name)


@routes.post("/email-confirmations")
def use_confirmation(body: ConfirmationUse, who: Someone) -> UserOut:
    """Confirm the address of one's own account by the link that was sent to it; the link is used up."""
    return users.use_confirmation(who, body)
