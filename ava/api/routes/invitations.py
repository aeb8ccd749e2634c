"""Invitations: a person chooses a password by what an administrator handed out."""

from __future__ import annotations

from ava.http.dependencies import AnyCaller, CurrentContext
from ava.http.routing import router
from ava.schemas.users import InvitationUse
from ava.services import users

routes = router("invitations")


@routes.post("/invitations", status_code=204)
def use_invitation(body: InvitationUse, context: CurrentContext, caller: AnyCaller) -> None:
    """Choose a password by an invitation; it is used up, and all logins and tokens of the account end."""
    users.use_invitation(context, caller, body)
