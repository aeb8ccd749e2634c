"""The token server of the site's registry: docker's clients come here by themselves, sent by the registry."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from ava.domain.problems import ApiError
from ava.http import errors
from ava.http.dependencies import caller_by_basic, caller_of, context_of
from ava.http.responses import Json
from ava.http.routing import RESPONSES
from ava.schemas.users import RegistryTokenOut
from ava.services.registry import access

# Not as strict as the others: clients of the protocol send fields of their own, and a scope several times.
routes = APIRouter(
    default_response_class=Json, responses=RESPONSES, tags=["registry"], redirect_slashes=False
)


@routes.get("/registry/token", response_model=RegistryTokenOut)
def registry_token(
    request: Request,
    service: Annotated[str, Query(max_length=300)] = "",
    scope: Annotated[list[str] | None, Query(max_length=50)] = None,
) -> Any:
    """Return a token for the registry; who asks says a name and one of its tokens by HTTP basic authentication.

    What the user may not access is left out; existing names are not revealed. Users whose images take up
    their space get no push access (403).
    """
    context, caller = context_of(request), caller_by_basic(request) or caller_of(request)
    try:
        return access.make_token(context, caller, service, scope or ())
    except access.PushRefused as refused:
        return _error_response(refused, request.url.path)


def _error_response(refused: ApiError, where: str) -> Response:
    """Return a refusal that says its reason also where docker looks for one: the registry's own form of errors."""
    code = "DENIED" if refused.status == HTTPStatus.FORBIDDEN else "UNAVAILABLE"
    messages = [
        {"code": code, "message": f"{p.what} Found: {p.found}; wanted: {p.wanted}. {p.remedy}"}
        for p in refused.problems
    ]
    return errors.of_refusal(refused, where, {"errors": messages})
