"""Routers of strict JSON interfaces, and the parameters that their paths share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from ava.http.requests import StrictRoute
from ava.http.responses import Json
from ava.schemas.common import ProblemDocument

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
