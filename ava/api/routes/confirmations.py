"""Users confirm their e-mail addresses."""

from __future__ import annotations

from ava.api.routes.common import Ref, router
from ava.api.routes.users import account
from ava.schemas.users import ConfirmationUse, UserOut
from ava.services import serializers
from ava.services.auth import email_confirmation
from ava.services.auth.caller import Someone

routes = router("users")


@routes.post("/users/{name}/email-confirmation", status_code=202)
def send_confirmation(name: Ref, who: Someone) -> UserOut:
    """Send the link by which the account's address is confirmed; 429 after some in a day."""
    found = account(who, name, "users.send-confirmation")
    with who.change("users.send-confirmation", f"user {found.name}"):
        email_confirmation.send(who.services, found)
    return serializers.user(who.services, found)


@routes.post("/email-confirmations")
def use_confirmation(body: ConfirmationUse, who: Someone) -> UserOut:
    """Confirm the address of one's own account by the link that was sent to it; the link is used up."""
    who.may("users.confirm-email")
    with who.change("users.confirm-email", f"user {who.me.name}"):
        return serializers.user(who.services, email_confirmation.use(who.services, who.me, body.confirmation))
