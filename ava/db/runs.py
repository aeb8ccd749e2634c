"""Runs: submitted, admitted, stopped, started again, finished; each step with its charge and its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db import data_set_locks, dependencies, disks, entitlement, records
from ava.db.base import Base, check_limit, new_id, outlined, page, reading, refuse, upsert, writing
from ava.db.lookup import Lock, definition_row, group_name, group_row, run_row, user_name, user_row
from ava.db.model_services import begin
from ava.db.outbox import enqueue
from ava.db.pools import pools_of
from ava.db.queues import queue_row
from ava.db.quotas import charge, release
from ava.db.submit_checks import already_running, check_may_run, check_submission, running
from ava.db.tables import queues, runs
from ava.db.types import phrased, plain, plain_document
from ava.domain.model import Kind, Outcome, Page, Phase, Run, Topic
from ava.domain.outline import columns, size_problems
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem, conflict
from ava.domain.quota import never_fits
from ava.domain.resources import Resources

MOST_REASONS = 100
FIRST = 100
"""Queued runs of a user that are looked at before anybody's further ones."""


class _Waits(Exception):
    """A run cannot be admitted now; raised so that the transaction is undone."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__()
        self.problems = problems


class Runs(Base):
    """Runs of definitions."""

    @writing
    def create(
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
        """Create a run in the owner's default group, queued. The same owner and key again return the same run.

        It is looked at once the runs ``after`` have succeeded; where one of them ends otherwise, it is aborted with a reason.

        409 for an owner without a group or shut out, or with too many runs waiting (1,000), a workbench that has a run
        already, a definition that is deleted, a key that was used for another definition; 422 for what is more than the
        group's or the queue's whole quota, which could never be admitted.
        """
        return create_run(
            connection,
            definition,
            key,
            now,
            asks=asks,
            spec=spec,
            queue=queue,
            priority=priority,
            cluster=cluster,
            after=after,
        )

    @reading
    def get(self, connection: Connection, id: str) -> Run:
        """Return a run."""
        return records.run(run_row(connection, id))

    @reading
    def list(
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
        """Return runs; of each the outline of its spec, as do ``waiting`` and ``active``."""
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
        queued = found.where(runs.c.phase == Phase.QUEUED, ~dependencies.unmet()).subquery()
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
        """Charge group and queue and tell the operator; return why not, empty when done (also when it was before).

        Conditional updates in one transaction: no quota is exceeded under any interleaving. ``cluster`` is where a run
        that asked for ``any`` goes; the run's ``cluster`` becomes that. The run of an owner who was shut out waits.
        """
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
            what = Phrase("The run has finished ({outcome}).", outcome=row.outcome)
            raise _Waits(
                [Problem("run-finished", what, Phrase("run {id}", id=id), remedy=Phrase("Submit it again."))]
            )
        if not_yet := dependencies.reasons(connection, id):
            raise _Waits(not_yet)
        if lost := entitlement.membership(connection, person, row):
            raise _Waits(lost)
        changes: dict[str, Any] = {"phase": Phase.ADMITTED, "admitted": now, "waits_for": []}
        changes["pools"] = pools_of(connection, row)
        if cluster is not None and row.cluster == "any":
            changes["cluster"] = cluster
        connection.execute(runs.update().where(runs.c.id == id).values(changes))
        enqueue(connection, now, "run-admitted", id, Topic.OPERATOR, attempt=row.attempt)
        if problems := data_set_locks.acquire(connection, id, row.owner, now) or charge(connection, row, now):
            raise _Waits(problems)

    @writing
    def stop(self, connection: Connection, run: str, now: datetime, *, by: str) -> Run:
        """Ask for the end. A queued run is finished at once; an admitted one when the operator says that its pods are gone."""
        return stop_run(connection, run, now, by=by)

    @writing
    def restart(self, connection: Connection, run: str, attempt: int, now: datetime) -> Run:
        """Begin the attempt after ``attempt``; nothing changes where that was done before. The charge continues.

        409 for a run that is not admitted, or that is to be stopped.
        """
        row = run_row(connection, run, Lock.NO_KEY_UPDATE)
        if row.attempt > attempt:
            return records.run(row)
        if row.phase != Phase.ADMITTED or row.stop is not None or row.attempt != attempt:
            raise conflict(
                "run-not-running",
                Phrase("Attempt {attempt} of this run cannot be followed by another one.", attempt=attempt),
                Phrase("run {id}", id=run),
                Phrase("Submit it again."),
                found=Phrase(
                    "{phase}, attempt {attempt}",
                    phase=row.phase,
                    attempt=f"{row.attempt}, to be stopped" if row.stop else row.attempt,
                ),
                wanted=Phrase("{phase}, attempt {attempt}", phase=Phase.ADMITTED.value, attempt=attempt),
            )
        update = runs.update().where(runs.c.id == run).values(attempt=attempt + 1)
        after = connection.execute(update.returning(runs)).one()
        enqueue(connection, now, "run-admitted", run, Topic.OPERATOR, attempt=attempt + 1)
        return records.run(after)

    @writing
    def finish(self, connection: Connection, run: str, outcome: Outcome, reason: str, now: datetime) -> Run:
        """End a run whose pods are gone: ends its charge, tells the owner. Done twice, the first stays.

        An empty ``reason`` leaves who asked for the stop.
        """
        row = run_row(connection, run, Lock.NO_KEY_UPDATE)
        if row.phase == Phase.FINISHED:
            return records.run(row)
        return _finish(connection, row, Outcome(outcome), plain(reason) or records.reason(row), now)

    @writing
    def set_waits_for(self, connection: Connection, run: str, reasons: Sequence[Problem]) -> None:
        """Keep why a run waits, for people alone; a finished run waits for nothing."""
        row = run_row(connection, run)
        messages = [_kept(reason) for reason in reasons[:MOST_REASONS]]
        if row.waits_for != messages:
            update = runs.update().where(runs.c.id == run, runs.c.phase != Phase.FINISHED)
            connection.execute(update.values(waits_for=messages))


def _kept(reason: Problem) -> Any:
    """Return a reason as it is kept; in English alone where the phrases are too much."""
    whole = plain_document(reason.as_stored(), 1000)
    return plain_document(reason.as_dict(), 1000) if "left_out" in whole else whole


def stop_run(
    connection: Connection, run: str, now: datetime, *, by: str, reason: Phrase | None = None
) -> Run:
    """Ask for the end of a run, as `Runs.stop`; ``reason`` in place of who asked."""
    row = run_row(connection, run, Lock.NO_KEY_UPDATE)
    if row.phase == Phase.FINISHED or row.stop is not None:
        return records.run(row)
    reason = reason or Phrase("Stopped by {by}.", by=plain(by, 200))
    report = {"stop": now, **phrased("reason", reason)}
    asked = connection.execute(runs.update().where(runs.c.id == run).values(report).returning(runs)).one()
    if row.phase == Phase.QUEUED:
        return _finish(connection, asked, Outcome.STOPPED, reason, now)
    enqueue(connection, now, "run-stop", run, Topic.OPERATOR, by=plain(by, 200))
    return records.run(asked)


def create_run(
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
    document: Mapping[str, Any] | None = None,
) -> Run:
    """Create a run, or return that of the same key.

    With ``document``, the definition as the user wrote it, before the site filled in image and command, a key
    whose run was made from another definition is refused.
    """
    refuse([*check_submission(asks, key, priority, cluster), *size_problems(spec)])
    owner = definition_row(connection, definition).owner
    if (before := _submitted(connection, owner, key)) is not None:
        return _same(before, definition, key, spec, document)
    person = user_row(connection, owner, Lock.SHARE)
    what = definition_row(connection, definition, Lock.KEY_SHARE)
    try:
        check_may_run(connection, person, what)
    except ApiError:
        # What is in the way may be the run that the same request, sent twice, has made meanwhile.
        if (before := _submitted(connection, owner, key)) is not None:
            return _same(before, definition, key, spec, document)
        raise
    home = disks.want(connection, what, person, spec, cluster, now)
    group = group_row(connection, home or person.default_group, Lock.KEY_SHARE)
    line = queue_row(connection, queue, Lock.KEY_SHARE)
    refuse(
        [
            *never_fits(asks, records.quota(group), Phrase("group {name}", name=group.name)),
            *never_fits(asks, records.quota(line), Phrase("queue {name}", name=line.name)),
        ]
    )
    row = {
        "id": new_id("r", now),
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
        return _same(before, definition, key, spec, document)
    data_set_locks.request(connection, made.id, owner, spec)
    begin(connection, made, now)
    if reasons := dependencies.wait_for(connection, made.id, after):
        update = runs.update().where(runs.c.id == made.id).values(waits_for=reasons)
        made = connection.execute(update.returning(runs)).one()
    enqueue(connection, now, "run-queued", made.id, Topic.SCHEDULER)
    return records.run(made)


def _finish(connection: Connection, row: Row[Any], outcome: Outcome, reason: str, now: datetime) -> Run:
    ended = {
        "phase": Phase.FINISHED,
        "finished": now,
        "outcome": outcome,
        **phrased("reason", reason),
        "waits_for": [],
    }
    after = connection.execute(runs.update().where(runs.c.id == row.id).values(ended).returning(runs)).one()
    charged = row.phase == Phase.ADMITTED
    topics = [Topic.SCHEDULER, Topic.NOTICE, *([Topic.OPERATOR] if charged else [])]
    enqueue(connection, now, "run-finished", row.id, *topics, outcome=outcome.value)
    for follower in dependencies.followers(connection, row.id):
        if outcome is Outcome.SUCCEEDED:
            dependencies.start_followers(connection, follower)
        else:
            _finish(connection, follower, Outcome.ABORTED, dependencies.failed(after), now)
    data_set_locks.release(connection, row.id)
    if charged:
        release(connection, row.id, now)
    return records.run(after)


def _submitted(connection: Connection, owner: str, key: str) -> Row[Any] | None:
    query = select(runs).where(runs.c.owner == owner, runs.c.key == key)
    return connection.execute(query).one_or_none()


def _same(
    row: Row[Any], definition: str, key: str, spec: Mapping[str, Any], document: Mapping[str, Any] | None
) -> Run:
    """Return the run that a key has made; 409 where it was made of something else."""
    # What the site fills in (image, command) may be another by now, for the same request.
    filled = {
        name: row.spec.get(name)
        for name in ("image", "command")
        if spec.get(name) != (document or spec).get(name)
    }
    # A service's definition changes while it runs.
    compared = document is not None and row.kind != Kind.SERVICE
    if row.definition != definition or (compared and row.spec != {**spec, **filled}):
        raise conflict(
            "idempotency-key-reused",
            Phrase("This key belongs to another run."),
            "Idempotency-Key",
            Phrase("Use another key for another run."),
            found=Phrase("the key of run {id}", id=row.id),
            wanted=Phrase("a key that is new, or the same request"),
        )
    return records.run(row)
