"""Invitations: a person chooses a password by what an administrator handed out."""

from __future__ import annotations

from ava.api.routes.common import router
from ava.schemas.users import InvitationUse
from ava.services.auth import invitations
from ava.services.auth.caller import Anybody
from ava.services.auth.rate_limits import network

routes = router("invitations")


@routes.post("/invitations", status_code=204)
def use_invitation(body: InvitationUse, who: Anybody) -> None:
    """Choose a password by an invitation; it is used up, and all logins and tokens of the account end."""
    services = who.services
    services.rates.spend("login_address", network(who.address), "logins")
    user = invitations.use(services, body.invitation, body.password)
    services.audit(user.name, "invitations.use", f"user {user.name}", "done", who.address)
