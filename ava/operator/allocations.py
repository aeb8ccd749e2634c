"""Tells the database from when on, and until when, runs have their nodes: only where that has changed since the last report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from ava.db.database import Database
from ava.domain import allocation
from ava.domain.allocation import Allocation
from ava.domain.model import PodState, Run
from ava.domain.pod_status import ENDED
from ava.domain.resources import Resources
from ava.domain.spec import Spec
from ava.kube.client import Object
from ava.operator.db_executor import DbExecutor
from ava.operator.policies import Place

NOTHING = Resources()


def on_node(pod: Object) -> bool:
    """Return whether a pod has a node and has not ended there."""
    return (
        bool(pod["spec"].get("nodeName")) and (pod.get("status") or {}).get("phase", "Pending") not in ENDED
    )


class Allocations:
    """What was reported last, by run; forgotten with the operator, for the same reported again changes nothing."""

    def __init__(self, db: Database, threads: DbExecutor) -> None:
        self.db, self.threads = db, threads
        self._reported: dict[str, tuple[int, Resources]] = {}
        """Attempt and amount."""

    async def look(
        self,
        run: Run,
        spec: Spec,
        states: Mapping[Place, PodState],
        there: Iterable[Object],
        now: datetime,
    ) -> Run:
        """Tell what a run has; return it with the time when it first had all."""
        held = any(on_node(pod) for pod in there)
        found = allocation.of_run(run, spec, states, held, now)
        if found is None:
            return run
        return await self._tell(run, found, now)

    async def of_service(
        self, run: Run, amount: Resources, placed: Iterable[PodState], now: datetime
    ) -> None:
        """Tell what a service's replicas that have nodes have together."""
        before = self._reported.get(run.id, (0, NOTHING))[1]
        times = [state.placed for state in placed if state.placed is not None]
        since = max(times, default=now) if amount.lacking(before) else now
        found = Allocation(NOTHING, None, now) if amount == NOTHING else Allocation(amount, since)
        # Revisions are no attempts: what is there of several of them counts together.
        await self._tell(replace(run, attempt=0), found, now)

    async def _tell(self, run: Run, found: Allocation, now: datetime) -> Run:
        goes_on = found.until is None
        reply = run.attempt, found.amount if goes_on else NOTHING
        before = self._reported.get(run.id)
        if before == reply and not (goes_on and run.started is None):
            return run
        if before is None and run.started is None and found.amount == NOTHING:
            # It never had anything.
            return run
        amount, since, until = found
        first = await self.threads(self.db.allocations.record, run.id, amount, now, since=since, until=until)
        self._reported[run.id] = reply
        return replace(run, started=first)

    def forget(self, run: str) -> None:
        """Drop what is remembered of a run that has ended."""
        self._reported.pop(run, None)
