"""`python -m ava.api --config FILE`: serves the interface, and health and metrics on a second port."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

import uvicorn

from ava.api import internal_auth
from ava.api.app import Install, application
from ava.api.health import internal
from ava.services.config import Config
from ava.services.context import Context
from ava.services.factory import make
from ava.services.workbenches import idle
from ava.settings import ConfigError, load, split

GRACE = 10
"""Seconds that requests get to end when the program is asked to; then followed logs are cut."""


def servers(context: Context, config: Config, install: Install | None = None) -> list[uvicorn.Server]:
    """Return the two servers."""
    tls = config.tls
    outer = uvicorn.Config(
        application(context, install),
        *split(config.listen),
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=2000,
        ssl_certfile=str(tls.certificate) if tls else None,
        ssl_keyfile=str(tls.key) if tls else None,
    )
    inner = uvicorn.Config(
        internal(context.db, internal_auth.routes(context)),
        *split(config.internal),
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        server_header=False,
        log_config=None,
        limit_concurrency=500,
        lifespan="off",
    )
    return [uvicorn.Server(outer), uvicorn.Server(inner)]


def serve(context: Context, config: Config, install: Install | None = None) -> None:
    """Serve until SIGTERM or SIGINT; health and metrics have a thread and a loop of their own, and answer while all is busy."""
    outer, inner = servers(context, config, install)
    beside = threading.Thread(target=inner.run, name="internal", daemon=True)
    beside.start()

    def asked(*_: object) -> None:
        outer.should_exit = True

    # uvicorn hands a signal that it has obeyed to who had it before: an end that was asked for is exit status 0.
    signal.signal(signal.SIGTERM, asked)
    ended, looks = threading.Event(), idle.watch(context)
    if looks is not None:
        threading.Thread(target=looks.run, args=(ended,), name="idle", daemon=True).start()
    try:
        outer.run()
    finally:
        ended.set()
        inner.should_exit = True
        beside.join(GRACE)


def main(argv: list[str] | None = None, install: Install | None = None) -> int:
    """Run, with what is installed beside the interface; return 2 where the settings are of no use."""
    parser = argparse.ArgumentParser(prog="python -m ava.api", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="settings, YAML")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        config = load(options.config, Config)
        context = make(config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        serve(context, config, install)
    except SystemExit:
        # A port that is taken: uvicorn has logged it.
        return 2
    finally:
        context.db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
