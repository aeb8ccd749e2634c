"""The command line for users' own machines: how to download and install it."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ava.web import assets
from ava.web.request import AnyVisit

routes = APIRouter()


@routes.get("/client")
def client_page(visit: AnyVisit) -> Response:
    """Show how the command line is installed."""
    found = assets.client_wheel()
    return visit.page(
        "client.html", wheel=found.name if found else "", address=f"https://{visit.request.url.netloc}"
    )
