"""Metrics and health over HTTP, for the kubelet and Prometheus; not for users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest


@asynccontextmanager
async def serve(
    host: str | None, port: int, registry: CollectorRegistry, problem: Callable[[], str]
) -> AsyncIterator[int]:
    """Serve ``/metrics``, ``/healthz`` and ``/ready`` (this process answers) while the context lasts; gives the port.

    ``problem`` says what is wrong with this process, empty for nothing: then ``/healthz`` answers 503 with it.
    """

    async def exposition(_: web.Request) -> web.Response:
        body = generate_latest(registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def health(_: web.Request) -> web.Response:
        wrong = problem()
        return web.Response(text=wrong or "ok", status=503 if wrong else 200)

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application(client_max_size=1024)
    app.add_routes([web.get("/metrics", exposition), web.get("/healthz", health), web.get("/ready", ready)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
