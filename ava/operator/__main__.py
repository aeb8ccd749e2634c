"""``python -m ava.operator --config FILE``: one operator process of one cluster; run two, one of them leads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from pathlib import Path

import click

from ava.db.database import open_database
from ava.kube import access
from ava.kube.client import Client
from ava.kube.health import serve
from ava.kube.leader import Leader
from ava.operator.config import Config, Notices
from ava.operator.controller import DEAF, Controller
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from ava.operator.notifications import Notifier
from ava.settings import ConfigError, load

log = logging.getLogger("ava.operator")


async def operate(config: Config, stop: asyncio.Event) -> None:
    """Contend for the lead and operate while it lasts, until ``stop`` is set."""
    db = open_database(config.database.address())
    threads, metrics = DbExecutor(), Metrics(config.cluster)
    who = access.from_kubeconfig(config.kubeconfig) if config.kubeconfig else access.in_cluster()
    identity = f"{socket.gethostname()}_{os.getpid()}"

    leading: list[Controller] = []

    def problem() -> str:
        """Return what is wrong with the one who leads; one who waits is well."""
        silent = leading[0].cluster.silent_for() if leading else 0.0
        return f"no response from the API server for {silent:.0f} s" if silent > 2 * DEAF else ""

    async def lead(client: Client) -> None:
        leader = Leader(client, config.namespace, config.election.name, identity, config.election.lease())

        async def work() -> None:
            metrics.leader.set(1)
            try:
                async with asyncio.TaskGroup() as group:
                    controller = Controller(leader.client, db, threads, config, metrics)
                    leading[:] = [controller]
                    group.create_task(controller.run())
                    group.create_task(Notifier(db, threads, config.notices or Notices(), metrics).run())
            finally:
                leading.clear()
                metrics.leader.set(0)

        while True:
            try:
                await leader.run(work)
            except Exception:
                # Whatever it was: a process that gave up contending would act no more.
                log.exception("this leadership ended by an error; contending again")
                await asyncio.sleep(1.0)

    async with Client(who) as client, serve(config.listen, config.port, metrics.registry, problem):
        task = asyncio.create_task(lead(client))
        ended = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (task, ended):
                each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            threads.close()
            await asyncio.to_thread(db.close)


async def _main(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await operate(config, stop)


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path), required=True, help="YAML file.")
def main(path: Path) -> None:
    """Operate one cluster of AVA: make the pods of admitted runs, tell the database what they do, take them away."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        config = load(path, Config)
        asyncio.run(_main(config))
    except (ConfigError, access.InvalidKubeconfig) as error:
        click.echo(f"ava operator: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
