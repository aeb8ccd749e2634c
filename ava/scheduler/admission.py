"""Rounds of admission: what waits in the database is charged and handed to the operator as quotas allow."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import ValidationError

from ava.db.database import Database
from ava.domain.admission import admissions
from ava.domain.model import Group, Pool, Run, Topic
from ava.domain.phrases import Phrase
from ava.domain.placement.capacity import ClusterCapacity, rooms
from ava.domain.placement.cluster_selector import ANY, ClusterSelector, gang_of
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.placement.model import Gang
from ava.domain.placement.pools import pool_for, usable
from ava.domain.problems import ApiError, Problem, from_stored
from ava.domain.spec import Spec

FRESH = timedelta(seconds=60)
"""A cluster whose scheduler gave no sign for so long gets no runs."""
RECENT = timedelta(seconds=10)
"""So long a run that was sent to a cluster is counted there although the cluster does not tell of it."""
LOOKED_AT = 1000
MESSAGES = 1000
MAX_UPDATES = 50
"""Reasons of which only amounts have changed that are written in one round."""
DATABASE_CODES = frozenset(
    {
        "user-not-active",
        "data-set-in-use",
        "data-set-behind",
        "data-set-revoked",
        "data-set-not-there",
        "follows",
    }
)
"""Codes with which the database refuses a run for another reason than a quota (ava/db/runs.py, ava/db/data_set_locks.py)."""
log = logging.getLogger(__name__)


class AdmissionController:
    """Admits runs of one cluster, and those for any cluster that it falls to.

    The order is that of all clusters' runs together; each cluster's scheduler carries out its own part. The database decides each
    charge in a transaction, so two admitters at once exceed nothing.
    """

    def __init__(self, db: Database, cluster: str) -> None:
        self._db, self._cluster = db, cluster
        self._sent: list[tuple[datetime, str, Gang]] = []
        self._skip = 0
        """So many waiting runs were looked at in the last rounds, beside the first of each."""
        self._last_updated = ""
        """The last run whose amounts were written again."""

    def round(self, now: datetime, room: ClusterCapacity | None) -> tuple[int, int]:
        """Make a round; return how many runs were admitted and how many wait.

        ``room`` is the own cluster's, younger than its last heartbeat.
        """
        db = self._db
        messages = db.outbox.list_open(Topic.SCHEDULER, MESSAGES)
        runs = self._waiting()
        admitted = 0
        if runs:
            admitted = self._admit(runs, now, self._rooms(now, room))
        if messages:
            db.outbox.complete([message.seq for message in messages], now)
        return admitted, len(runs) - admitted

    def _waiting(self) -> Sequence[Run]:
        """Return the runs of a round: the first in turn, and where there are more of them each time some of the others.

        So each run is looked at, however many wait before it that cannot be admitted for reasons of their own.
        """
        first = self._db.runs.waiting(LOOKED_AT)
        if len(first) < LOOKED_AT:
            self._skip = 0
            return first
        self._skip += LOOKED_AT
        further = self._db.runs.waiting(LOOKED_AT, self._skip)
        if len(further) < LOOKED_AT:
            self._skip = 0
        known = {run.id for run in first}
        return [*first, *(run for run in further if run.id not in known)]

    def _admit(self, runs: Sequence[Run], now: datetime, known: Mapping[str, ClusterCapacity]) -> int:
        db = self._db
        queues = {key: queue for queue in db.queues.list() for key in (queue.id, queue.name)}
        pools = usable(db.pools.list())
        waits: dict[str, list[Problem]] = {}
        specs: dict[str, tuple[Spec, str, str | None]] = {}
        able: list[Run] = []
        for run in runs:
            queue = queues.get(run.queue)
            pool = pool_for(run.asks.gpu > 0, queue.pool if queue else None, pools)
            plain = None if queue and queue.pool else pool_for(False, None, pools)
            try:
                found = self._ready(run, pool, plain, known, specs)
            except Exception:
                # It concerns one run; the others have their turn.
                log.exception("run %s cannot be looked at", run.id)
                found = [_failed(run)]
            if found:
                waits[run.id] = found
            else:
                able.append(run)
        choice = self._choice(known, pools, now)
        count = 0

        def admit(run: Run) -> Sequence[Problem]:
            """Admit a run for which the quotas have room; return why not. What another cluster's scheduler admits is counted."""
            nonlocal count
            chosen = run.cluster
            if chosen == ANY:
                spec, pool, plain = specs[run.id]
                chosen = choice.cluster_for(run.id, spec, pool, plain=plain) or ""
                self._sent.append((now, chosen, gang_of(spec, pool, run.id, plain=plain)))
            if chosen != self._cluster:
                # It reported last why it does not admit this one: then neither does the run use any quota here.
                elsewhere.add(run.id)
                return [p for p in map(from_stored, run.waits_for) if p.code in DATABASE_CODES]
            problems = db.runs.admit(run.id, now, cluster=chosen if run.cluster == ANY else None)
            count += not problems
            return problems

        def tried(run: Run) -> Sequence[Problem]:
            try:
                return admit(run)
            except ApiError as refused:
                if refused.status >= 500:
                    raise
                return refused.problems
            except Exception:
                log.exception("run %s cannot be admitted", run.id)
                return [_failed(run)]

        elsewhere: set[str] = set()
        stopping = db.charges.stopping() if able else {}
        waits |= admissions(able, self._groups(able), queues, tried, stopping).waits
        self._tell({run.id: run for run in runs if run.id not in elsewhere}, waits)
        return count

    def _tell(self, runs: Mapping[str, Run], waits: Mapping[str, Sequence[Problem]]) -> None:
        """Keep why runs wait, where that has changed.

        Where only amounts have (somebody else's run has begun or ended), a part of them is written in each round: a thousand
        writes would hold up the next one.
        """
        fresh: list[str] = []
        amounts: list[str] = []
        for id, problems in waits.items():
            run = runs.get(id)
            if run is None or run.waits_for == tuple(p.as_stored() for p in problems):
                continue
            same = [(p.get("code"), p.get("where")) for p in run.waits_for] == [
                (p.code, p.where) for p in problems
            ]
            (amounts if same else fresh).append(id)
        # Those that have waited longest for it first: the ids of runs are in the order of their age, so begin after the last one.
        amounts = sorted(amounts, key=lambda id: (id <= self._last_updated, id))[:MAX_UPDATES]
        self._last_updated = amounts[-1] if amounts else ""
        for id in [*fresh, *amounts]:
            try:
                self._db.runs.set_waits_for(id, waits[id])
            except ApiError as refused:
                if refused.status >= 500:
                    raise
                log.warning("reasons of run %s: %s", id, refused)

    def _ready(
        self,
        run: Run,
        pool: str | None,
        plain: str | None,
        known: Mapping[str, ClusterCapacity],
        specs: dict[str, tuple[Spec, str, str | None]],
    ) -> list[Problem]:
        """Return why a run is not to be looked at now; for one for any cluster its spec is kept in ``specs``."""
        if pool is None:
            what = Phrase("The pool of its queue does not take runs of this kind, with or without GPUs.")
            return [
                Problem(
                    "pool-kind",
                    what,
                    Phrase("queue {name}", name=run.queue),
                    remedy=Phrase("Submit it to another queue."),
                )
            ]
        if run.cluster != ANY:
            if run.cluster == self._cluster or run.cluster in known:
                return []
            what = Phrase(
                "The cluster {cluster} has no scheduler that acts at the moment.", cluster=run.cluster
            )
            remedy = Phrase("Wait, or submit the run to another cluster; administrators are notified.")
            return [Problem("cluster-silent", what, f"cluster {run.cluster}", remedy=remedy)]
        try:
            spec = Spec.model_validate(run.spec)
        except ValidationError:
            what = Phrase("Its definition cannot be read by this version of the platform.")
            return [
                Problem(
                    "spec-unreadable",
                    what,
                    Phrase("run {id}", id=run.id),
                    remedy=Phrase("Stop it and submit it again."),
                )
            ]
        reasons = [infeasible_reasons(spec, room, pool, plain) for room in known.values()]
        if all(reasons):
            what = Phrase("No cluster could ever take it.")
            return [Problem("no-cluster", what, "cluster"), *(p for problems in reasons for p in problems)]
        specs[run.id] = (spec, pool, plain)
        return []

    def _rooms(self, now: datetime, room: ClusterCapacity | None) -> dict[str, ClusterCapacity]:
        """Return the rooms of the clusters whose schedulers act."""
        signs = {
            part: detail for part, (at, detail) in self._db.heartbeats.list().items() if now - at <= FRESH
        }
        return rooms(signs) | ({self._cluster: room} if room is not None else {})

    def _choice(
        self, known: Mapping[str, ClusterCapacity], pools: Sequence[Pool], now: datetime
    ) -> ClusterSelector:
        choice = ClusterSelector(known, {pool.name: pool for pool in pools})
        self._sent = [sent for sent in self._sent if now - sent[0] <= RECENT]
        for _, cluster, gang in self._sent:
            choice.take(cluster, gang)
        return choice

    def _groups(self, runs: Sequence[Run]) -> dict[str, Group]:
        found: dict[str, Group] = {}
        for name in {run.group for run in runs}:
            try:
                found[name] = self._db.groups.get(name)
            except ApiError as error:
                if error.status != 404:
                    raise
        return found


def _failed(run: Run) -> Problem:
    what = Phrase("It cannot be admitted because of an internal error.")
    remedy = Phrase("Stop it, and report it to the administrator; the scheduler's log has the details.")
    return Problem("not-admissible", what, Phrase("run {id}", id=run.id), remedy=remedy)
