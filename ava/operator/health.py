"""Metrics and health over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ava.operator.metrics import Metrics


@asynccontextmanager
async def serve(host: str, port: int, metrics: Metrics, problem: Callable[[], str]) -> AsyncIterator[int]:
    """Serve ``/metrics``, ``/healthz`` and ``/ready`` (this process answers) while the context lasts; gives the port.

    ``problem`` says what is wrong with this process, empty for nothing: then ``/healthz`` answers 503 with it.
    """

    async def exposition(_: web.Request) -> web.Response:
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def health(_: web.Request) -> web.Response:
        wrong = problem()
        return web.Response(text=f"{wrong or 'ok'}\n", status=503 if wrong else 200)

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    app = web.Application(client_max_size=1024)
    app.add_routes([web.get("/metrics", exposition), web.get("/healthz", health), web.get("/ready", ready)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
