"""``python -m ava.scheduler --config FILE``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from ava.db.database import open_database
from ava.domain.problems import ApiError
from ava.kube.access import InvalidKubeconfig
from ava.scheduler.config import Config
from ava.scheduler.program import Program
from ava.settings import ConfigError, load


async def _run(program: Program) -> None:
    task = asyncio.create_task(program.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        logging.getLogger(__name__).info("stopped")


def main() -> int:
    """Run the scheduler; 0 when it was stopped, 2 when it cannot begin."""
    parser = argparse.ArgumentParser(
        prog="ava-scheduler", description="Admits AVA's runs and places their pods."
    )
    parser.add_argument("--config", type=Path, required=True, help="settings (YAML)")
    parser.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    options = parser.parse_args()
    logging.basicConfig(level=options.log_level, format="%(levelname)s %(name)s: %(message)s")
    try:
        config = load(options.config, Config)
        db = open_database(config.database.address())
    except (ConfigError, ApiError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        asyncio.run(_run(Program(config, db)))
    except (InvalidKubeconfig, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        db.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
