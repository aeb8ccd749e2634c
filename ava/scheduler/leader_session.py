"""What a scheduler does while it leads; begun again, from the API server, at each taking of the lead."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from ava.db.database import Database
from ava.domain.model import Topic
from ava.domain.placement.capacity import FIELD, ClusterCapacity, part, snapshot
from ava.domain.placement.model import Pod
from ava.domain.problems import ApiError
from ava.kube.backoff import SOON, Backoff
from ava.kube.client import Client, Object
from ava.kube.informer import Informer
from ava.kube.resources import NODES, PODS
from ava.scheduler.admission import AdmissionController
from ava.scheduler.binder import Binder
from ava.scheduler.cache import Cache
from ava.scheduler.config import Config
from ava.scheduler.event_reporter import ConditionReporter
from ava.scheduler.metrics import Metrics
from ava.scheduler.placement_loop import PlacementLoop
from ava.scheduler.rbac import RoleBinder as RightsBinder

log = logging.getLogger(__name__)
LOOK = 30
"""Seconds of one watch: so often the API server is heard even where nothing changes."""
STALE = LOOK + 15.0
"""Seconds without a word of the API server after which nothing is decided, and no heartbeat given: no run is sent there."""
HUNG = 60.0


class LeaderSession:
    """One reign.

    Args:
        client: the leader's, whose writes are refused once the lead is lost.
        identity: reported with the heartbeats.
    """

    def __init__(self, client: Client, db: Database, config: Config, metrics: Metrics, identity: str) -> None:
        self._db, self._config, self._metrics, self._identity = db, config, metrics, identity
        self.cache = Cache((), self._wake)
        self.pods, self.nodes = Informer(client, PODS, seconds=LOOK), Informer(client, NODES, seconds=LOOK)
        self.nodes.listen(self.cache.on_node)
        self.pods.listen(self.cache.on_pod)
        self._teller = ConditionReporter(
            client, db.runs, self._thing, again=config.tell, rate=config.writes_per_second
        )
        self._binder = Binder(
            client,
            metrics,
            refused=self._refused,
            wanted=self.cache.is_assumed,
            notes=self._teller.notes,
            width=config.binds,
        )
        self.placer = PlacementLoop(
            self.cache, self._binder, metrics, fresh=self._fresh, why=self._teller.why, tell=self._teller.tell
        )
        self._admitter = AdmissionController(db, config.cluster)
        rights = config.rights
        self._binder_of_rights = RightsBinder(client, db, rights) if rights is not None else None
        self._room: ClusterCapacity | None = None
        self._ready = False

    def _wake(self) -> None:
        if self._ready:
            self.placer.wake()

    def _refused(self, pod: Pod) -> None:
        self.cache.refused(pod, self._thing(pod.key))
        self.placer.refused(pod)

    def _thing(self, key: str) -> Object | None:
        namespace, _, name = key.partition("/")
        return self.pods.objects.get((namespace, name))

    def _fresh(self) -> bool:
        return self.pods.silent_for() < STALE and self.nodes.silent_for() < STALE

    def hangs(self) -> bool:
        """Return whether the placing loop has stopped though it should run."""
        return self._ready and time.monotonic() - self.placer.passed > HUNG

    async def run(self) -> None:
        """Act until cancelled; what was sent to the API server is waited for before this returns."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._admitting())
            if self._binder_of_rights is not None:
                group.create_task(self._binder_of_rights.run())
            await self._patiently("pools", self._read_pools)
            group.create_task(self.nodes.run())
            await self.nodes.synced.wait()
            # Pods that wait are looked at only once all that is bound is counted: a restart allocates nothing twice.
            group.create_task(self.pods.run())
            await self.pods.synced.wait()
            self._ready = True
            log.info("%d nodes, %d pods: placing", len(self.nodes.objects), len(self.pods.objects))
            self.placer.wake()
            for part_of in (self._binder.run, self.placer.run, self._teller.run, self._signing):
                group.create_task(part_of())

    async def _patiently(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do something with the database, again and again until it is done: the database may be away, or a run's data be odd.

        Placement continues meanwhile: what waits in the database must not hold up what is paid for.
        """
        backoff = Backoff(0.5, SOON)
        # There from the beginning: else the first error would be no increase to Prometheus, and grafana's panel empty until then.
        errors = self._metrics.errors.labels(name)
        while True:
            try:
                await work()
            except ApiError as error:
                errors.inc()
                log.warning("%s: %s", name, error)
            except Exception:
                errors.inc()
                log.exception("%s failed", name)
            else:
                return
            await asyncio.sleep(backoff.next())

    async def _read_pools(self) -> None:
        self.cache.set_pools(await asyncio.to_thread(self._db.pools.list))

    async def _admitting(self) -> None:
        poll = self._config.poll
        while True:
            await self._patiently("admission", self._admit)
            await self._patiently("admission", lambda: self._wait(poll))

    async def _wait(self, poll: float) -> None:
        began = time.monotonic()
        await asyncio.to_thread(self._db.outbox.wait, Topic.SCHEDULER, poll)
        # Ten rounds a second are enough, however many messages come.
        await asyncio.sleep(max(0.0, 0.1 - (time.monotonic() - began)))

    async def _admit(self) -> None:
        if self._ready and not self._fresh():
            # What this cluster has is unknown: runs that may go elsewhere must not be taken for it.
            return
        began = time.monotonic()
        await self._read_pools()
        admitted, waiting = await asyncio.to_thread(self._admitter.round, datetime.now(UTC), self._room)
        self._metrics.admitted.inc(admitted)
        self._metrics.queued.set(waiting)
        self._metrics.round.observe(time.monotonic() - began)

    async def _signing(self) -> None:
        while True:
            await self._patiently("sign", self._sign)
            await asyncio.sleep(self._config.sign)

    async def _sign(self) -> None:
        gangs = self.cache.gangs()
        self._room = snapshot(
            self.cache.cluster, self._config.cluster, self.cache.largest, waiting=len(gangs)
        )
        self._measure(len(gangs), sum(len(g.pods) for g in gangs))
        if not self._fresh():
            return
        detail = {
            "identity": self._identity,
            "cluster": self._config.cluster,
            FIELD: self._room.as_dict(),
        }
        await asyncio.to_thread(
            self._db.heartbeats.record, part(self._config.cluster), datetime.now(UTC), detail
        )

    def _measure(self, gangs: int, pods: int) -> None:
        m, slots = self._metrics, self.cache.cluster.slots.values()
        m.gangs.set(gangs)
        m.pods.set(pods)
        m.assumed.set(self.cache.assumed())
        m.nodes.set(len(slots))
        m.gpus.labels("free").set(sum(max(0, slot.free.gpu) for slot in slots))
        m.gpus.labels("used").set(sum(slot.node.room.gpu - slot.free.gpu for slot in slots))
        m.silence.set(max(self.pods.silent_for(), self.nodes.silent_for()))
        over = self.cache.overcommitted()
        m.overcommitted.set(len(over))
        if over:
            log.error("more GPUs are given away than there are on %s", ", ".join(over[:10]))
