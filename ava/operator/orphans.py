"""What the operator made and is no longer needed: a look at everything, not at one run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from ava.db.database import Database
from ava.domain import labels
from ava.domain.model import Phase
from ava.domain.problems import ApiError
from ava.kube.client import Object
from ava.kube.for_each import for_each
from ava.kube.resources import CLAIMS, NAMESPACES, PODS, Kind
from ava.operator.cluster import Cluster
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics

log = logging.getLogger(__name__)


class Orphans:
    """Removes what belongs to no active run of this cluster, after it has been so for ``grace`` seconds."""

    def __init__(
        self,
        cluster: Cluster,
        db: Database,
        threads: DbExecutor,
        metrics: Metrics,
        *,
        name: str,
        grace: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster, self.db, self.threads, self.metrics = cluster, db, threads, metrics
        self.name, self.grace, self.clock = name, grace, clock
        self._since: dict[str, float] = {}
        self._spaces: dict[str, float] = {}

    async def look(self, active: set[str]) -> None:
        """Look at everything once; ``active`` are the runs that are known to be wanted."""
        now = self.clock()
        suspects: set[str] = set()

        async def ask(run: str) -> None:
            if not await self._wanted(run):
                suspects.add(run)

        await for_each("orphans", sorted(self.cluster.runs() - active), ask)
        self._since = {run: self._since.get(run, now) for run in suspects}
        await for_each(
            "orphans", [r for r, since in self._since.items() if now - since >= self.grace], self._remove
        )

    async def _wanted(self, run: str) -> bool:
        """Return whether the database knows the run as active here. An answer that is not available is a yes."""
        try:
            found = await self.threads(self.db.runs.get, run)
        except ApiError as error:
            return error.status != 404
        return found.phase is Phase.ADMITTED and found.cluster == self.name

    async def _remove(self, run: str) -> None:
        async def one(found: tuple[Kind, Object]) -> None:
            kind, thing = found
            meta = thing["metadata"]
            if kind is PODS and meta.get("deletionTimestamp"):
                return
            log.warning("%s %s/%s belongs to no run", kind.name, meta.get("namespace", ""), meta["name"])
            await self.cluster.remove(kind, thing)
            self.metrics.orphans.inc()

        await for_each("orphans", list(self.cluster.of_run(run)), one)

    async def spaces(self) -> None:
        """Remove the namespace of each group that the database does not know any more, once nothing of ours is in it."""
        now = self.clock()

        async def one(thing: Object) -> None:
            meta = thing["metadata"]
            group = meta["labels"].get(labels.GROUP)
            if not group or meta.get("deletionTimestamp") or labels.namespace(group) != meta["name"]:
                return
            key = f"namespace {meta['name']}"
            used = any(
                space == meta["name"]
                for kind in (PODS, CLAIMS)
                for space, _ in self.cluster.made[kind].objects
            )
            if used or await self._group(group):
                self._spaces.pop(key, None)
            elif now - self._spaces.setdefault(key, now) >= self.grace and await self._empty(meta["name"]):
                log.warning("namespace %s: its group is gone", meta["name"])
                await self.cluster.remove(NAMESPACES, thing)
                self.metrics.orphans.inc()

        await for_each("namespaces", list(self.cluster.made[NAMESPACES].objects.values()), one)

    async def _group(self, group: str) -> bool:
        try:
            await self.threads(self.db.groups.get, group)
        except ApiError as error:
            return error.status != 404
        return True

    async def _empty(self, space: str) -> bool:
        """Return whether no pod at all is in a namespace: somebody else's would go with it."""
        found, _ = await self.cluster.client.list(PODS, space, limit=1)
        return not found
