"""The token server of the site's registry: docker's clients come here by themselves, sent by the registry."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from ava.api.answer import Json
from ava.api.identity import by_basic, caller
from ava.api.registry_tokens import SECONDS
from ava.api.routes.common import RESPONSES
from ava.api.schemas.people import RegistryTokenOut
from ava.domain.names import shown
from ava.domain.problems import Problem, Refused

# Not as strict as the others: clients of the protocol send fields of their own, and a scope several times.
routes = APIRouter(
    default_response_class=Json, responses=RESPONSES, tags=["registry"], redirect_slashes=False
)


@routes.get("/registry/token")
def registry_token(
    request: Request,
    service: Annotated[str, Query(max_length=300)] = "",
    scope: Annotated[list[str] | None, Query(max_length=50)] = None,
) -> RegistryTokenOut:
    """Return a token for the registry; who asks says a name and one of its tokens by HTTP basic authentication.

    What may not be had is left out of it, and the registry refuses that then; nobody is told what there is.
    """
    who = by_basic(request) or caller(request)
    who.may("registry.token")
    signer = who.services.signer
    if signer is None or service != signer.settings.host:
        raise Refused(
            404,
            Problem(
                "not-found",
                "There is no such registry here.",
                "query.service",
                shown(service) or "nothing",
                signer.settings.host if signer else "none: this site's users push no images",
                "Log in at the site's own registry.",
            ),
        )
    now = who.services.clock()
    token = signer.token(who, scope or (), now)
    return RegistryTokenOut(token=token, access_token=token, expires_in=SECONDS, issued_at=now)
