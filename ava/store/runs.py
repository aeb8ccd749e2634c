"""Runs: submitted, admitted, stopped, started again, finished; each step with its charge and its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.domain.model import Kind, Outcome, Page, Phase, Run, Topic
from ava.domain.names import shown
from ava.domain.outline import columns, size_problems
from ava.domain.problems import Problem, Refused, conflict
from ava.domain.quota import never_fits
from ava.domain.resources import Resources
from ava.store import disks, entitlement, follow, holds, records
from ava.store.base import Base, check_limit, outlined, page, reading, refuse, upsert, writing
from ava.store.ledger import charge, release
from ava.store.lookup import Lock, definition_row, group_name, group_row, run_row, user_name, user_row
from ava.store.pool_uses import pools_of
from ava.store.services import begin
from ava.store.settings import queue_row
from ava.store.submission import already_running, check_may_run, check_submission, running
from ava.store.tables import queues, runs
from ava.store.types import plain, plain_document

MOST_REASONS = 100
FIRST = 100
"""Queued runs of a user that are looked at before anybody's further ones."""


class _Waits(Exception):
    """A run cannot be admitted now; raised so that the transaction is undone."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__()
        self.problems = problems


class RunStore(Base):
    """Runs of definitions."""

    @writing
    def submit(
        self,
        connection: Connection,
        definition: str,
        key: str,
        now: datetime,
        *,
        asks: Resources,
        spec: Mapping[str, Any],
        queue: str,
        priority: int,
        cluster: str,
        after: Sequence[str] = (),
    ) -> Run:
        """Make a queued run in the owner's default group, or the one that has its disk; the same owner and key: the same run."""
        refuse([*check_submission(asks, key, priority, cluster), *size_problems(spec)])
        owner = definition_row(connection, definition).owner
        if (before := _submitted(connection, owner, key)) is not None:
            return _same(before, definition, key)
        person = user_row(connection, owner, Lock.SHARED)
        what = definition_row(connection, definition, Lock.STAYS)
        try:
            check_may_run(connection, person, what)
        except Refused:
            # What is in the way may be the run that the same request, sent twice, has made meanwhile.
            if (before := _submitted(connection, owner, key)) is not None:
                return _same(before, definition, key)
            raise
        home = disks.want(connection, what, person, spec, cluster, now)
        group = group_row(connection, home or person.default_group, Lock.STAYS)
        line = queue_row(connection, queue, Lock.STAYS)
        refuse(
            [
                *never_fits(asks, records.quota(group), f"group {group.name}"),
                *never_fits(asks, records.quota(line), f"queue {line.name}"),
            ]
        )
        row = {
            "id": self.new_id("r", now),
            "definition": what.id,
            "kind": what.kind,
            "name": what.name,
            "owner": owner,
            "group_name": group.name,
            "queue": line.name,
            "priority": priority,
            "cluster": cluster,
            "key": key,
            **columns(spec),
            **asks._asdict(),
            "phase": Phase.QUEUED,
            "created": now,
            "waits_for": [],
        }
        insert = upsert(connection, runs).values(row).on_conflict_do_nothing()
        made = connection.execute(insert.returning(runs)).one_or_none()
        if made is None:
            before = _submitted(connection, owner, key)
            if before is None:
                raise already_running(what, running(connection, what) or "")
            return _same(before, definition, key)
        holds.want(connection, made.id, owner, spec)
        begin(connection, made, now)
        if reasons := follow.wait_for(connection, made.id, after):
            update = runs.update().where(runs.c.id == made.id).values(waits_for=reasons)
            made = connection.execute(update.returning(runs)).one()
        self.tell(connection, now, "run-queued", made.id, Topic.SCHEDULER)
        return records.run(made)

    @reading
    def run(self, connection: Connection, id: str) -> Run:
        """Return a run."""
        return records.run(run_row(connection, id))

    @reading
    def runs(
        self,
        connection: Connection,
        *,
        owner: str | None = None,
        group: str | None = None,
        definition: str | None = None,
        kind: Kind | None = None,
        phase: Phase | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Run]:
        """Return runs, newest first; of each the outline of its spec."""
        query = select(*outlined(runs))
        if owner is not None:
            query = query.where(runs.c.owner == user_name(connection, owner))
        if group is not None:
            query = query.where(runs.c.group_name == group_name(connection, group))
        if definition is not None:
            query = query.where(runs.c.definition == definition)
        if kind is not None:
            query = query.where(runs.c.kind == Kind(kind))
        if phase is not None:
            query = query.where(runs.c.phase == Phase(phase))
        return page(connection, query, runs.c.id, records.run, after=after, limit=limit)

    @reading
    def waiting(self, connection: Connection, limit: int = 1000, skip: int = 0) -> Sequence[Run]:
        """Return queued runs after the first ``skip``, with outlines: the queue's priority, the run's, then the oldest.

        Where there are more than ``limit``, each group has the same part of it in each queue, so that no group hides another's
        runs; within a group what a user has queued beyond a hundred comes after everybody's first hundred.
        """
        check_limit(limit)
        order = queues.c.priority.desc(), runs.c.priority.desc(), runs.c.id
        place = func.row_number().over(partition_by=runs.c.owner, order_by=order)
        found = select(*outlined(runs), queues.c.priority.label("line"), (place > FIRST).label("later"))
        found = found.join(queues, queues.c.name == runs.c.queue)
        queued = found.where(runs.c.phase == Phase.QUEUED, ~follow.unmet()).subquery()
        turn = queued.c.later, queued.c.line.desc(), queued.c.priority.desc(), queued.c.id
        lines = select(queued.c.group_name, queued.c.queue).distinct().subquery()
        part = max(
            1, limit // max(1, connection.execute(select(func.count()).select_from(lines)).scalar_one())
        )
        among = func.row_number().over(partition_by=(queued.c.group_name, queued.c.queue), order_by=turn)
        ranked = select(queued, (among > part).label("beyond")).subquery()
        query = select(ranked).order_by(
            ranked.c.beyond, ranked.c.later, ranked.c.line.desc(), ranked.c.priority.desc(), ranked.c.id
        )
        return [records.run(row) for row in connection.execute(query.limit(limit).offset(skip))]

    @reading
    def active(self, connection: Connection) -> Sequence[Run]:
        """Return all admitted runs, oldest first; of each the outline of its spec."""
        query = select(*outlined(runs)).where(runs.c.phase == Phase.ADMITTED).order_by(runs.c.id)
        return [records.run(row) for row in connection.execute(query)]

    def admit(self, run: str, now: datetime, *, cluster: str | None = None) -> Sequence[Problem]:
        """Charge group and queue and tell the operator; return why not, empty when done (also when it was before)."""
        try:
            self._admit(run, now, cluster)
        except _Waits as waits:
            return waits.problems
        return ()

    @writing
    def _admit(self, connection: Connection, id: str, now: datetime, cluster: str | None) -> None:
        person, row = entitlement.locked(connection, id)
        if row.phase == Phase.ADMITTED:
            return
        if row.phase == Phase.FINISHED:
            what = f"The run has finished ({row.outcome})."
            raise _Waits([Problem("run-finished", what, f"run {id}", remedy="Submit it again.")])
        if not_yet := follow.reasons(connection, id):
            raise _Waits(not_yet)
        if lost := entitlement.membership(connection, person, row):
            raise _Waits(lost)
        changes: dict[str, Any] = {"phase": Phase.ADMITTED, "admitted": now, "waits_for": []}
        changes["pools"] = pools_of(connection, row)
        if cluster is not None and row.cluster == "any":
            changes["cluster"] = cluster
        connection.execute(runs.update().where(runs.c.id == id).values(changes))
        self.tell(connection, now, "run-admitted", id, Topic.OPERATOR, attempt=row.attempt)
        if problems := holds.take(connection, id, row.owner, now) or charge(connection, row, now):
            raise _Waits(problems)

    @writing
    def stop(self, connection: Connection, run: str, now: datetime, *, by: str) -> Run:
        """Ask for the end; a queued run is finished at once."""
        row = run_row(connection, run, Lock.OWN)
        if row.phase == Phase.FINISHED or row.stop is not None:
            return records.run(row)
        reason = f"Stopped by {plain(by, 200)}."
        asked = connection.execute(
            runs.update().where(runs.c.id == run).values(stop=now, reason=reason).returning(runs)
        ).one()
        if row.phase == Phase.QUEUED:
            return self._finish(connection, asked, Outcome.STOPPED, reason, now)
        self.tell(connection, now, "run-stop", run, Topic.OPERATOR, by=plain(by, 200))
        return records.run(asked)

    @writing
    def restart(self, connection: Connection, run: str, attempt: int, now: datetime) -> Run:
        """Begin the attempt after ``attempt``; 409 for a run that is not admitted or is to be stopped."""
        row = run_row(connection, run, Lock.OWN)
        if row.attempt > attempt:
            return records.run(row)
        if row.phase != Phase.ADMITTED or row.stop is not None or row.attempt != attempt:
            raise conflict(
                "run-not-running",
                f"Attempt {attempt} of this run cannot be followed by another one.",
                f"run {run}",
                "Submit it again.",
                found=f"{row.phase}, attempt {row.attempt}" + (", to be stopped" if row.stop else ""),
                wanted=f"{Phase.ADMITTED.value}, attempt {attempt}",
            )
        update = runs.update().where(runs.c.id == run).values(attempt=attempt + 1)
        after = connection.execute(update.returning(runs)).one()
        self.tell(connection, now, "run-admitted", run, Topic.OPERATOR, attempt=attempt + 1)
        return records.run(after)

    @writing
    def finish(self, connection: Connection, run: str, outcome: Outcome, reason: str, now: datetime) -> Run:
        """End a run whose pods are gone; done twice, the first stays."""
        row = run_row(connection, run, Lock.OWN)
        if row.phase == Phase.FINISHED:
            return records.run(row)
        return self._finish(connection, row, Outcome(outcome), plain(reason) or row.reason, now)

    @writing
    def waits_for(self, connection: Connection, run: str, reasons: Sequence[Problem]) -> None:
        """Keep why a run waits, for people alone; a finished run waits for nothing."""
        row = run_row(connection, run)
        said = [plain_document(reason.as_dict(), 1000) for reason in reasons[:MOST_REASONS]]
        if row.waits_for != said:
            update = runs.update().where(runs.c.id == run, runs.c.phase != Phase.FINISHED)
            connection.execute(update.values(waits_for=said))

    def _finish(
        self, connection: Connection, row: Row[Any], outcome: Outcome, reason: str, now: datetime
    ) -> Run:
        ended = {
            "phase": Phase.FINISHED,
            "finished": now,
            "outcome": outcome,
            "reason": reason,
            "waits_for": [],
        }
        after = connection.execute(
            runs.update().where(runs.c.id == row.id).values(ended).returning(runs)
        ).one()
        charged = row.phase == Phase.ADMITTED
        topics = [Topic.SCHEDULER, Topic.NOTICE, *([Topic.OPERATOR] if charged else [])]
        self.tell(connection, now, "run-finished", row.id, *topics, outcome=outcome.value)
        for follower in follow.followers(connection, row.id):
            if outcome is Outcome.SUCCEEDED:
                follow.go_on(connection, follower)
            else:
                self._finish(connection, follower, Outcome.ABORTED, follow.failed(after), now)
        holds.give_back(connection, row.id)
        if charged:
            release(connection, row.id, now)
        return records.run(after)


def _submitted(connection: Connection, owner: str, key: str) -> Row[Any] | None:
    query = select(runs).where(runs.c.owner == owner, runs.c.key == key)
    return connection.execute(query).one_or_none()


def _same(row: Row[Any], definition: str, key: str) -> Run:
    if row.definition != definition:
        raise conflict(
            "key-used",
            "This key was used for a run of another definition.",
            "key",
            "Make a new key for each run that is wanted.",
            found=shown(key),
        )
    return records.run(row)
