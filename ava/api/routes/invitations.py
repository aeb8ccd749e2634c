"""Invitations: a person chooses a password by what an administrator handed out."""

from __future__ import annotations

from ava.http.routing import router
from ava.schemas.users import InvitationUse
from ava.services import users
from ava.services.auth.caller import Anybody

routes = router("invitations")


@routes.post("/invitations", status_code=204)
def use_invitation(body: InvitationUse, who: Anybody) -> None:
    """Choose a password by an invitation; it is used up, and all logins and tokens of the account end."""
    users.use_invitation(who, body)
