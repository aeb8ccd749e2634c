"""What the routes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path

from ava.domain.problems import ApiError, missing
from ava.http.requests import StrictRoute
from ava.http.responses import Json
from ava.schemas.common import ProblemDocument
from ava.services.auth.caller import Caller

T = TypeVar("T")
Ref = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""A name or id in an address."""
_DOCUMENT: dict[str, Any] = {
    "model": ProblemDocument,
    "description": "What is wrong",
    "content": {"application/problem+json": {}},
}
RESPONSES: dict[int | str, dict[str, Any]] = dict.fromkeys(
    (400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 503), _DOCUMENT
)


def router(tag: str) -> APIRouter:
    """Return a router whose routes read strictly and tell of their errors."""
    return APIRouter(
        route_class=StrictRoute,
        default_response_class=Json,
        responses=RESPONSES,
        tags=[tag] if tag else None,
        redirect_slashes=False,
    )


def find(ask: Callable[[str], T], what: str, ref: str, where: str) -> T:
    """Return what is asked for; of what is not there it says the same as of what is not the caller's."""
    try:
        return ask(ref)
    except ApiError as refused:
        if refused.status == 404:
            raise missing(f"{what} {ref}", where) from None
        raise


def myself(who: Caller, ref: str) -> str:
    """Return the name that an address means: ``me`` is who asks."""
    return who.me.name if ref == "me" else ref
