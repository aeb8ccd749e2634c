"""What the leader does: mirrors, workers, the outbox, passes over everything, heartbeats."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import ChainMap
from collections.abc import Awaitable, Callable
from datetime import timedelta

from ava.db.database import Database
from ava.domain.problems import ApiError
from ava.domain.states import watcher
from ava.kube.backoff import SOON, Backoff
from ava.kube.client import Client
from ava.kube.errors import Fenced, KubeError
from ava.kube.informer import synced
from ava.operator.cluster import LOOK, Cluster
from ava.operator.config import Config
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from ava.operator.orphans import Orphans
from ava.operator.outbox import Outbox
from ava.operator.reconciler import Reconciler
from ava.operator.request_load import EVERY
from ava.operator.stuck_pods import Watchdog
from ava.operator.volume_errors import VolumeErrors
from ava.operator.work_queue import WorkQueue

log = logging.getLogger(__name__)
DEAF = LOOK + 15
"""After so many seconds without a word of the API server what pods do is not known, and no heartbeat is given."""
WATCHDOG = 2.0
"""Seconds between two looks at pods that are being removed."""
LOOK_AT_DISKS = 5.0
"""Seconds between two looks at disks that are not as they should be."""
LOOK_AT_DRAINS = 2.0
"""Seconds between two looks at nodes that are drained."""
MOUNTING = 5.0
"""Seconds between two looks at pods whose volumes are not mounted."""
SWEEP = 3600.0
"""Seconds between two sweeps of the database."""
KEPT = timedelta(days=7)
"""So long messages stay after they were done, for anyone who looks for what happened."""
WELL = (KubeError, ApiError, OSError, TimeoutError)
"""What goes wrong while a part is away, and is right again after."""


class Controller:
    """One leadership: recreated each time that the lead is won, so that nothing of an earlier one is believed."""

    def __init__(
        self, client: Client, db: Database, threads: DbExecutor, config: Config, metrics: Metrics
    ) -> None:
        self.db, self.threads, self.config, self.metrics = db, threads, config, metrics
        self.cluster = Cluster(client)
        self.queue = WorkQueue()
        self.watchdog = Watchdog(self.cluster, config.times, metrics, self.queue.add)
        self.mounting = VolumeErrors(self.cluster, self.queue.add)
        # What keeps a pod from ending says more than what kept it from starting.
        why = ChainMap(self.watchdog.stuck, self.mounting.unmounted)
        self.reconciler = Reconciler(self.cluster, db, threads, config, metrics, why)
        self.outbox = Outbox(db, threads, self.queue, config.cluster)
        self.orphans = Orphans(
            self.cluster, db, threads, metrics, name=config.cluster, grace=config.times.orphan
        )
        self.cluster.on_pod(self.queue.add)

    async def run(self) -> None:
        """Work until cancelled."""
        times = self.config.times
        self.metrics.run_info.pods = lambda: self.cluster.pods.objects.values()
        try:
            async with asyncio.TaskGroup() as group:
                for mirror in self.cluster.mirrors():
                    group.create_task(mirror.run())
                await synced(self.cluster.mirrors())
                for _ in range(self.config.workers):
                    group.create_task(self._work())
                group.create_task(self._always("outbox", self.outbox.take))
                group.create_task(self._always("pass", self.look_at_all, times.reconcile))
                group.create_task(self._always("watchdog", self.watchdog.look, WATCHDOG))
                group.create_task(self._always("volumes", self.mounting.look, MOUNTING))
                group.create_task(self._always("heartbeat", self.alive, times.alive))
                group.create_task(self._always("sweep", self.sweep, SWEEP))
                group.create_task(self._always("disks", self.reconciler.disks.look, LOOK_AT_DISKS))
                group.create_task(self._always("node drains", self._look_at_drains, LOOK_AT_DRAINS))
                if self.config.services.ingresses:
                    group.create_task(self._always("load", self.reconciler.replicas.load.look, EVERY))
        finally:
            self.metrics.run_info.pods = tuple
            self.queue.close()

    async def look_at_all(self) -> None:
        """Have every active run looked at, and remove what belongs to none."""
        runs = [run for run in await self.threads(self.db.runs.active) if run.cluster == self.config.cluster]
        for run in runs:
            self.queue.add(run.id)
        self.metrics.runs.set(len(runs))
        await self.cluster.refresh()
        await self.orphans.look({run.id for run in runs})
        await self.orphans.spaces()
        self.metrics.passes.inc()

    async def _look_at_drains(self) -> None:
        for run in await self.reconciler.drains.look():
            self.queue.add(run)

    async def alive(self) -> None:
        """Give a heartbeat, as long as what pods do is known."""
        silent = self.cluster.silent_for()
        self.metrics.silent.set(silent)
        self.metrics.pods.set(len(self.cluster.pods.objects))
        self.metrics.waiting.set(len(self.queue))
        if silent > DEAF:
            log.warning("no response from the API server for %d s", silent)
            return
        detail = {
            "cluster": self.config.cluster,
            "pods": len(self.cluster.pods.objects),
            "waiting": len(self.queue),
            "stuck": len(self.watchdog.stuck),
        }
        await self.threads(
            self.db.heartbeats.record, watcher(self.config.cluster), self.reconciler.now(), detail
        )

    async def sweep(self) -> None:
        """Remove from the database what was done, and sessions that ended, long ago."""
        await self.threads(self.db.outbox.sweep, self.reconciler.now() - KEPT)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            seqs = self.outbox.begin(key)
            began = time.monotonic()
            well = False
            try:
                again = await self.reconciler.look(key)
                await self.outbox.end(seqs)
                well = True
                if again is not None:
                    self.queue.add_after(key, again)
            except Fenced:
                self.metrics.lost_writes.inc()
            except Exception as error:
                # Whatever it is, it concerns one run; the others continue.
                self.metrics.errors.inc()
                wait = self.queue.retry(key)
                known = isinstance(error, WELL)
                log.warning(
                    "run %s: %s; again in %.1f s",
                    key,
                    error or type(error).__name__,
                    wait,
                    exc_info=not known,
                )
            finally:
                self.queue.done(key, well=well)
                self.metrics.look.observe(time.monotonic() - began)

    async def _always(self, what: str, step: Callable[[], Awaitable[None]], every: float = 0.0) -> None:
        """Do a step for ever; errors are logged, and it tries again later."""
        backoff = Backoff(0.5, SOON)
        while True:
            try:
                await step()
                backoff.reset()
                await asyncio.sleep(every)
            except Fenced:
                self.metrics.lost_writes.inc()
                await asyncio.sleep(1.0)
            except Exception as error:
                log.warning("%s: %s", what, error, exc_info=not isinstance(error, WELL))
                await asyncio.sleep(backoff.next())
