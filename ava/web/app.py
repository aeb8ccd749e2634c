"""The web site before the API: its pages, its files and how it tells of errors."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse

from ava.web import assets, error_pages
from ava.web.pages import ALL


def install(app: FastAPI) -> None:
    """Add the site to the application."""
    pages = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
    for module in ALL:
        pages.include_router(module.routes)
    app.include_router(pages)
    app.include_router(assets.routes)
    error_pages.install(app)
