"""Health and metrics, on a port of their own that is not for users."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ava.db.database import Database
from ava.services import metrics

WITHIN = 5.0
"""Seconds in which the database has to answer."""


def internal(db: Database, more: Sequence[Route] = ()) -> Starlette:
    """Return the internal port's application: /ready (this process answers), /healthz (the database does), /metrics, and more."""

    async def healthz(request: Request) -> Response:
        try:
            await asyncio.wait_for(run_in_threadpool(db.queues.list), WITHIN)
        except Exception as error:
            # Its text could hold the database's address.
            return PlainTextResponse(f"the database does not answer: {type(error).__name__}\n", 503)
        return PlainTextResponse("ok\n")

    async def ready(request: Request) -> Response:
        # Of nothing but this process: what answers slowly, or without the database, says more to its users than no back end.
        return PlainTextResponse("ok\n")

    def figures(request: Request) -> Response:
        return Response(generate_latest(metrics.REGISTRY), media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[Route("/ready", ready), Route("/healthz", healthz), Route("/metrics", figures), *more]
    )
