"""Health and metrics over HTTP, for the kubelet and Prometheus; not for users."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest


@asynccontextmanager
async def serving(
    address: str, registry: CollectorRegistry, healthy: Callable[[], str]
) -> AsyncIterator[int]:
    """Serve ``/healthz``, ``/ready`` (this process answers) and ``/metrics`` and give the port.

    ``healthy`` returns what is wrong, empty where nothing is: then 200, else 503 with it.
    """

    async def healthz(_: web.Request) -> web.Response:
        wrong = healthy()
        return web.Response(text=wrong or "ok", status=503 if wrong else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": "text/plain; version=0.0.4"}
        )

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/ready", ready), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, _, port = address.rpartition(":")
    try:
        site = web.TCPSite(runner, host.strip("[]") or None, int(port))
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
