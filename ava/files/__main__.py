"""``python -m ava.files --config FILE``: takes and shows files of data sets; of several processes one makes folders."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import uvicorn

from ava.db.database import open_database
from ava.domain.problems import ApiError
from ava.files.cache_stats import CacheStats
from ava.files.config import Config
from ava.files.data_set_files import DataSetFiles
from ava.files.filesystem import Filesystem, WrongFilesystem
from ava.files.folders import FolderReconciler
from ava.files.health import internal
from ava.files.metrics import Metrics
from ava.files.reconciler import Reconciler
from ava.files.server import application, services
from ava.files.snapshots import Snapshots
from ava.kube import access
from ava.kube.client import Client
from ava.kube.errors import KubeError
from ava.kube.leader import Leader
from ava.settings import ConfigError, load, split

log = logging.getLogger("ava.files")
AWAY = 3
"""Exit status where the file system is away: a container that starts again gets the node's present mount."""
PATIENCE = 30.0
"""Seconds after which it ends for that."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class Program:
    """One process."""

    def __init__(self, config: Config) -> None:
        self.config, self.metrics = config, Metrics()
        self.services = services(open_database(config.database.address()), config)
        self.db = self.services.db
        self.ground = Filesystem(config.mount, self.db)
        self.maker = FolderReconciler(self.db, self.ground, self.services.clock, home_quota=config.home_quota)

    def problem(self) -> str:
        """Return what is wrong with the file system, empty for nothing."""
        try:
            if self.db.folders.file_system() is not None:
                with self.ground.root():
                    pass
        except (WrongFilesystem, OSError) as error:
            return str(error)
        except ApiError as refused:
            return f"the database does not answer: {refused.problems[0].code}"
        except Exception:
            # An error of ours is no sign that the file system is away, for which the program would end.
            log.exception("looking at the file system")
            return "database and file system cannot be looked at"
        return ""

    async def run(self) -> int:
        """Run until SIGTERM or SIGINT; return the exit status."""
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        app = application(self.services, self.ground, self.config, self.metrics)
        servers = [
            self._server(app, self.config.listen),
            self._server(internal(self.problem, self.metrics), self.config.internal),
        ]
        tasks = [asyncio.create_task(server.serve()) for server in servers]
        tasks.append(asyncio.create_task(self._lead()))
        away = asyncio.create_task(self._away())
        ended = asyncio.create_task(stop.wait())
        await asyncio.wait((*tasks, ended, away), return_when=asyncio.FIRST_COMPLETED)
        for server in servers:
            server.should_exit = True
        tasks[-1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.db.close()
        return AWAY if away.done() else 0

    @staticmethod
    def _server(app: object, listen: str) -> _Server:
        host, port = split(listen)
        return _Server(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                host,
                port,
                loop="none",
                http="httptools",
                access_log=False,
                log_config=None,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=10,
                lifespan="off",
            )
        )

    async def _lead(self) -> None:
        """Contend for the lead, and make folders while it lasts."""
        kubeconfig = self.config.kubeconfig
        who = access.from_kubeconfig(kubeconfig) if kubeconfig else access.in_cluster()
        election = self.config.election
        async with Client(who) as client:
            while True:
                leader = Leader(
                    client, election.namespace, election.name, socket.gethostname(), election.lease()
                )
                try:
                    await leader.run(lambda leader=leader: self._act(leader))  # type: ignore[misc]
                except Exception:
                    # Whatever it was: a process that gave up contending would make no folders any more.
                    log.exception("this leadership ended by an error; contending again")
                    await asyncio.sleep(1.0)

    async def _act(self, leader: Leader) -> None:
        config = self.config
        acting = Reconciler(
            self.db,
            self.maker,
            self.metrics,
            lead=leader.check,
            now=self.services.clock,
            every=config.every,
            poll=config.poll,
            beside=self._give_up,
        )
        thread = threading.Thread(target=acting.run, name="acting", daemon=True)
        self.metrics.leader.set(1)
        thread.start()
        beside = [asyncio.create_task(again(look, config.poll)) for look in self._elsewhere(leader)]
        try:
            while thread.is_alive():
                await asyncio.sleep(0.5)
        finally:
            acting.stopped.set()
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            self.metrics.leader.set(0)

    def _elsewhere(self, leader: Leader) -> list[Callable[[], Awaitable[object]]]:
        """Return what looks after data sets whose bytes lie elsewhere."""
        config, now = self.config, self.services.clock
        found: list[Callable[[], Awaitable[object]]] = []
        if config.snapshots:
            found.append(Snapshots(self.db, leader.client, config.election.namespace, now).look)
        if config.cache_services:
            cached = CacheStats(self.db, leader.client, config.election.namespace, config.cache_services, now)
            found.append(cached.look)
        return found

    def _give_up(self) -> None:
        """Give up uploads without progress for long."""
        before = self.services.clock() - timedelta(days=self.config.upload_days)
        DataSetFiles(self.db, self.ground).give_up_stale(before)

    async def _away(self) -> None:
        """Return when the file system was away for too long."""
        since: float | None = None
        clock = asyncio.get_running_loop().time
        while True:
            problem = await asyncio.to_thread(self.problem)
            self.metrics.ready.set(not problem)
            since = None if not problem or "database" in problem[:10] else since or clock()
            if since is not None and clock() - since > PATIENCE:
                log.error("%s", problem)
                return
            await asyncio.sleep(5.0)


async def again(look: Callable[[], Awaitable[object]], every: float) -> None:
    """Look again and again; errors are logged once, and it tries again."""
    text = ""
    while True:
        try:
            await look()
            text = ""
        except (KubeError, ApiError, OSError, TimeoutError) as error:
            if str(error) != text:
                text = str(error)
                log.warning("%s", text)
        except Exception as error:
            if str(error) != text:
                text = str(error)
                log.exception("a look failed")
        await asyncio.sleep(every)


def main() -> int:
    """Run; 0 when it was stopped, 2 when it cannot begin, 3 when the file system is away."""
    parser = argparse.ArgumentParser(prog="ava-storage", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="settings (YAML)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        return asyncio.run(Program(load(options.config, Config)).run())
    except (ConfigError, ApiError, access.InvalidKubeconfig, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
