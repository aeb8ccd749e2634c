"""Nodes that are drained: their workbenches and trainings are stopped when it is time, and their services are looked at.

The database says what was asked for, Kubernetes whether it still holds: where a node takes pods again, by whatever way, its
drain is withdrawn, so that no run that comes there later is stopped for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from ava.db.database import Database
from ava.domain.node_drains import NodeDrain
from ava.domain.pod_status import ENDED
from ava.kube.client import Object
from ava.kube.for_each import for_each
from ava.operator.cluster import Cluster, run_of
from ava.operator.db_executor import DbExecutor

log = logging.getLogger(__name__)
CORDON_SECONDS = 60
"""So long after its beginning a node may still take pods: who asks for the drain cordons it about then."""


class NodeDrains:
    """Carries out what the database has of nodes to be drained."""

    def __init__(
        self, cluster: Cluster, db: Database, threads: DbExecutor, name: str, now: Callable[[], datetime]
    ) -> None:
        self.cluster, self.db, self.threads, self.name, self.now = cluster, db, threads, name, now
        self._known: dict[str, NodeDrain] = {}
        self._notified: dict[str, set[str]] = {}

    def of(self, pod: Object) -> NodeDrain | None:
        """Return the drain of a pod's node, None where it is not drained."""
        return self._known.get(pod["spec"].get("nodeName") or "")

    async def look(self) -> Collection[str]:
        """Stop what is due; return the runs that have to be looked at: those with pods on nodes that are drained, or were."""
        now = self.now()
        before, found = self._known, await self.threads(self.db.node_drains.list, self.name)
        known: dict[str, NodeDrain] = {}
        for drain in found:
            if self._takes_pods(drain.node) and now - drain.begun > timedelta(seconds=CORDON_SECONDS):
                log.warning("node %s takes pods: its drain is withdrawn", drain.node)
                await self.threads(self.db.node_drains.withdraw, self.name, drain.node, now)
            else:
                known[drain.node] = drain
        self._known = known
        self._notified = {node: self._notified.get(node, set()) for node in known}
        on = {node: self._runs_on(node) for node in {*known, *(before.keys() - known.keys())}}

        async def step(node: str) -> None:
            await self._step(node, on[node], now)

        # What is wrong with the runs of one node keeps no other from being emptied.
        await for_each("node drains", known, step)
        return set().union(*on.values())

    async def _step(self, node: str, on: set[str], now: datetime) -> None:
        new = on - self._notified[node]
        if new:
            await self.threads(self.db.node_drains.notify, self.name, node, new, now)
            self._notified[node] |= new
        for run in await self.threads(self.db.node_drains.stop_due, self.name, node, on, now):
            log.info("run %s of %s is stopped: node %s is drained", run.id, run.owner, node)

    def _takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        thing = self.cluster.nodes.objects.get(("", node))
        return thing is not None and not (thing.get("spec") or {}).get("unschedulable")

    def _runs_on(self, node: str) -> set[str]:
        return {
            run
            for pod in self.cluster.pods.objects.values()
            if pod["spec"].get("nodeName") == node
            and (pod.get("status") or {}).get("phase") not in ENDED
            and (run := run_of(pod))
        }
