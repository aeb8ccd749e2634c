"""The application: routes, errors, and what surrounds them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp

from ava import __version__
from ava.api.routes import api
from ava.http import errors
from ava.http.middleware import Middleware
from ava.http.responses import Json
from ava.services.context import Context

THREADS = 16
"""Requests that are at work in the database at once; the others wait in line, not on the database."""
PREFIX = "/api/v1"
Install = Callable[[FastAPI], None]
"""Adds what else the program serves: the web site."""


def frame(context: Context) -> FastAPI:
    """Return the application without what surrounds it (its OpenAPI document is looked at in tests)."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield
        await context.logs.close()

    app = FastAPI(
        title="AVA",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.services = context
    app.include_router(api(), prefix=PREFIX)
    errors.install(app)
    return app


def application(context: Context, install: Install | None = None) -> ASGIApp:
    """Return the application as it is served, with what else belongs to it."""
    app = frame(context)
    if install is not None:
        install(app)
    return Middleware(app, context.config.trusted_proxies)
