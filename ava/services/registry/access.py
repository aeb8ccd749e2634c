"""Access to the site's registry, for docker's clients."""

from __future__ import annotations

from collections.abc import Collection

from ava.domain.names import shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem
from ava.schemas.users import RegistryTokenOut
from ava.services.auth.authorization import authorize
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.registry.images import check_room
from ava.services.registry.repositories import grant, owned
from ava.services.registry.tokens import seconds


class PushRefused(ApiError):
    """A refusal of a token to push with, which docker shows its user."""


def make_token(context: Context, caller: Caller, service: str, scopes: Collection[str]) -> RegistryTokenOut:
    """Return a token for the registry, for as much of what is asked for as the caller may have.

    Raises:
        PushRefused: 403 for who has used up their space for images, 503 where that cannot be known.
    """
    authorize(context, caller, "registry.token")
    pushed = context.pushed
    signer = pushed.signer if pushed else None
    if pushed is None or signer is None or service != signer.settings.host:
        raise ApiError(
            404,
            Problem(
                "not-found",
                Phrase("There is no such registry here."),
                "query.service",
                shown(service) or Phrase("nothing"),
                signer.settings.host if signer else "none: this site's users push no images",
                Phrase("Log in at the site's own registry."),
            ),
        )
    granted = grant(context, caller, scopes)
    owners = {"/".join(owned(name)) for name, actions in granted.items() if "push" in actions}
    try:
        check_room(pushed, sorted(owners))
    except ApiError as refused:
        raise PushRefused(refused.status, *refused.problems) from refused
    now = context.clock()
    token = signer.token(caller, granted, now)
    return RegistryTokenOut(token=token, access_token=token, expires_in=seconds(granted), issued_at=now)
