"""`python -m ava.gateway.http --config FILE`: lets owners into their workbenches."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

import click
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ava.gateway.http import proxy
from ava.gateway.http.api_client import ApiClient
from ava.gateway.http.app import HttpGateway
from ava.gateway.http.config import Config
from ava.settings import ConfigError, load

LARGEST = 2**40
"""Bytes of a request: files are uploaded through the gate, which keeps nothing of them."""


def application(gate: HttpGateway) -> web.Application:
    """Return what browsers are served."""
    app = web.Application(client_max_size=LARGEST)
    app.router.add_route("*", "/{path:.*}", gate.serve)
    return app


def internal_app(gate: HttpGateway) -> web.Application:
    """Return health and metrics."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(gate.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def health(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    app = web.Application(client_max_size=1024)
    app.add_routes([web.get("/metrics", metrics), web.get("/healthz", health)])
    return app


async def run(config: Config, stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set."""
    asks = ApiClient(config.api, config.secret.read_text(encoding="ascii").strip())
    async with proxy.session() as client:
        gate = HttpGateway(config, asks, client)
        runners = [
            web.AppRunner(app, access_log=None, shutdown_timeout=5.0, handler_cancellation=True)
            for app in (application(gate), internal_app(gate))
        ]
        watch = asyncio.create_task(gate.watch())
        try:
            for runner, port in zip(runners, (config.port, config.internal), strict=True):
                await runner.setup()
                await web.TCPSite(runner, config.host, port).start()
            await stop.wait()
        finally:
            watch.cancel()
            for runner in runners:
                await runner.cleanup()
            await asks.close()


async def _main(config: Config) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await run(config, stop)


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, help="YAML file.")
def main(path: Path) -> None:
    """Serve the gate of AVA's workbenches."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        asyncio.run(_main(load(path, Config)))
    except (ConfigError, OSError) as error:
        click.echo(f"ava gate: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
