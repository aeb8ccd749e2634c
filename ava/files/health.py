"""Health and metrics, on a port of their own that is not for users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ava.files.metrics import Metrics

WITHIN = 5.0
"""Seconds in which file system and database have to answer."""


def internal(problem: Callable[[], str], metrics: Metrics) -> Starlette:
    """Return the internal port's application: /ready (this process answers), /healthz (file system and database do), /metrics."""

    async def healthz(request: Request) -> Response:
        try:
            wrong = await asyncio.wait_for(run_in_threadpool(problem), WITHIN)
        except TimeoutError:
            wrong = "the file system or the database does not answer"
        return PlainTextResponse(f"{wrong or 'ok'}\n", 503 if wrong else 200)

    async def ready(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    def figures(request: Request) -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/ready", ready), Route("/healthz", healthz), Route("/metrics", figures)])
