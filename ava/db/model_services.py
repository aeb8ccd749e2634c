"""Services: what they are to be, revision by revision, how many replicas, and what is charged for them at each moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from ava.db import entitlement, records
from ava.db.base import Base, reading, refuse, writing
from ava.db.lookup import Lock, group_row, run_row
from ava.db.outbox import enqueue
from ava.db.queues import queue_row
from ava.db.quotas import charge, release
from ava.db.tables import revisions, runs, services
from ava.db.types import phrased, plain
from ava.domain.model import Kind, Phase, Run, Topic
from ava.domain.model_services import Service, address, clamp, former_address, same_pods
from ava.domain.outline import columns, size_problems
from ava.domain.phrases import Phrase, noun
from ava.domain.problems import ApiError, Problem, conflict, missing
from ava.domain.quota import asks_problems, never_fits
from ava.domain.resources import Resources
from ava.domain.spec import Scaling

MOST = 512
"""Replicas of one service."""
FIXED = ("data_sets", "cluster", "queue")
"""What its run holds or is charged to; taken when it is admitted."""
BEHIND = {"group_name": {"group-quota", "quota-used-up"}, "queue": {"queue-quota", "quota-used-up"}}
"""For what of its group or its queue an earlier run may wait whose turn comes before a service's growth."""


NAMED = select(services, runs.c.owner, runs.c.name).join(runs, runs.c.id == services.c.run)
"""Rows of services with what their former addresses are made of."""


class _Waits(Exception):
    """What is asked for has no room; raised so that the transaction is undone."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__()
        self.problems = problems


class ModelServices(Base):
    """Services, beside what they have as runs."""

    @reading
    def get(self, connection: Connection, run: str) -> Service:
        """Return what is wanted of a service's run; 404 where the run is none."""
        return _service(_row(connection, run))

    @reading
    def revision(self, connection: Connection, run: str, number: int) -> Mapping[str, Any]:
        """Return the definition of a revision."""
        return _revision(connection, run, number)

    @writing
    def update(self, connection: Connection, run: str, spec: Mapping[str, Any], now: datetime) -> Run:
        """Give a service another definition. The same again changes nothing.

        What makes the same pods as the settled revision takes an update back; only the number of replicas, bounds and
        access need no further revision. 409 for one that ends, or whose owner has lost the group or a data set of it;
        422 for what can never fit.
        """
        return update_service(connection, run, spec, now)

    @writing
    def scale(self, connection: Connection, run: str, count: int, now: datetime) -> Service:
        """Set how many replicas are wanted; 422 outside of the definition's bounds, 409 for one that ends.

        More than there are is 409 too where the owner has lost the group or a data set of it (entitlement.py). Whether
        quota and queue have room is decided when the operator asks for what the replicas need.
        """
        person, row = entitlement.locked(connection, run)
        known = _row(connection, run)
        if row.phase != Phase.ADMITTED or row.stop is not None:
            raise _ended(row)
        bounds = _scaling(row.spec)
        if isinstance(count, bool) or not 1 <= count <= MOST or clamp(count, bounds) != count:
            least, most = (bounds.least, bounds.most) if bounds else (1, MOST)
            what = Phrase("The service cannot have so many replicas.")
            remedy = Phrase("Choose another number, or change serving.scaling of its definition.")
            problem = Problem("replicas", what, "replicas", str(count)[:40], f"{least} to {most}", remedy)
            raise ApiError(422, problem)
        if count > known.wanted:
            refuse(entitlement.growth(connection, person, row), 409)
        if count != known.wanted:
            asks = _each(row.spec).times(count)
            group, queue = group_row(connection, row.group_name), queue_row(connection, row.queue)
            refuse(
                [
                    *never_fits(asks, records.quota(group), Phrase("group {name}", name=group.name)),
                    *never_fits(asks, records.quota(queue), Phrase("queue {name}", name=queue.name)),
                ]
            )
            update = services.update().where(services.c.run == run)
            connection.execute(update.values(wanted=count, scaled=now))
            connection.execute(runs.update().where(runs.c.id == run).values(columns(_with(row.spec, count))))
            enqueue(connection, now, "run-admitted", run, Topic.OPERATOR, attempt=row.attempt)
        return _service(_row(connection, run))

    @writing
    def settle(self, connection: Connection, run: str, revision: int, now: datetime) -> None:
        """Keep that all replicas are of a revision and ready."""
        run_row(connection, run, Lock.NO_KEY_UPDATE)
        same = services.c.run == run, services.c.target == revision
        connection.execute(services.update().where(*same).values(settled=revision))

    @writing
    def set_trouble(self, connection: Connection, run: str, trouble: str, now: datetime) -> None:
        """Keep why a service does not come to what is wanted, empty for nothing; its owner is notified of each once."""
        run_row(connection, run, Lock.NO_KEY_UPDATE)
        text = plain(trouble, 1000)
        if _row(connection, run).trouble == text:
            return
        connection.execute(services.update().where(services.c.run == run).values(phrased("trouble", text)))
        if text:
            enqueue(connection, now, "run-trouble", run, Topic.NOTICE, reason=text)

    def recharge(self, run: str, amount: Resources, now: datetime) -> Sequence[Problem]:
        """Charge another amount for a service from now on; return why not, empty when done.

        A charge is never edited: the present one ends and another begins, in one transaction. More is charged only where group
        and queue have room beside what earlier runs of theirs wait for.
        """
        try:
            self._recharge(run, amount, now)
        except _Waits as waits:
            return waits.problems
        return ()

    @writing
    def _recharge(self, connection: Connection, id: str, amount: Resources, now: datetime) -> None:
        person, row = entitlement.locked(connection, id)
        _row(connection, id)
        before = Resources(row.gpu, row.cpu, row.memory)
        if row.phase != Phase.ADMITTED:
            raise _ended(row)
        if before == amount:
            return
        if amount.lacking(before):
            if lost := entitlement.growth(connection, person, row):
                raise _Waits(lost)
            if earlier := _earlier(connection, row):
                raise _Waits([earlier])
        update = runs.update().where(runs.c.id == id).values(amount._asdict())
        after = connection.execute(update.returning(runs)).one()
        has = release(connection, id, now)
        if problems := charge(connection, after, now, has):
            raise _Waits(problems)
        if before.lacking(amount):
            # Others may have been waiting for what was given back.
            enqueue(connection, now, "run-changed", id, Topic.SCHEDULER)

    @reading
    def addresses(self, connection: Connection) -> Mapping[str, str]:
        """Return the group of each admitted service, by the first label of the service's host name."""
        query = select(services.c.address, runs.c.owner, runs.c.name, runs.c.group_name)
        query = query.join(runs, runs.c.id == services.c.run)
        query = query.where(runs.c.kind == Kind.SERVICE.value, runs.c.phase == Phase.ADMITTED.value)
        return {_address(row): row.group_name for row in connection.execute(query.order_by(runs.c.id))}


def begin(connection: Connection, row: Row[Any], now: datetime) -> None:
    """Write the first revision of a service whose run was just made; nothing for other kinds."""
    if row.kind != Kind.SERVICE:
        return
    connection.execute(revisions.insert().values(run=row.id, revision=0, spec=row.spec, created=now))
    wanted = clamp(_replicas(row.spec), _scaling(row.spec))
    made = {"run": row.id, "wanted": wanted, "target": 0, "settled": 0, "since": now, "scaled": now}
    connection.execute(services.insert().values(**made, address=_new_address(connection, row)))


def update_service(connection: Connection, run: str, spec: Mapping[str, Any], now: datetime) -> Run:
    """Give a service another definition, within a transaction (``ModelServices.update``)."""
    person, row = entitlement.locked(connection, run)
    known = _row(connection, run)
    if row.phase == Phase.FINISHED or row.stop is not None:
        raise _ended(row)
    refuse(entitlement.growth(connection, person, row), 409)
    if fixed := [name for name in FIXED if spec.get(name) != row.spec.get(name)]:
        raise conflict(
            "service-fixed",
            Phrase(
                "{fields} of a service cannot change while it runs.",
                fields=[noun(name) for name in fixed],
            ),
            f"spec.{fixed[0]}",
            Phrase("Leave it as it is, or stop the service and start it again."),
            found=str(spec.get(fixed[0]))[:200],
            wanted=str(row.spec.get(fixed[0]))[:200],
        )
    wanted = _replicas(spec) if _scaling(spec) is None else clamp(known.wanted, _scaling(spec))
    target = _target(connection, row, known, spec, now)
    if target == known.target and wanted == known.wanted and row.spec == _with(spec, wanted):
        return records.run(row)
    asks = _each(spec).times(wanted)
    refuse([*asks_problems(asks), *size_problems(spec)])
    group, queue = group_row(connection, row.group_name), queue_row(connection, row.queue)
    refuse(
        [
            *never_fits(asks, records.quota(group), Phrase("group {name}", name=group.name)),
            *never_fits(asks, records.quota(queue), Phrase("queue {name}", name=queue.name)),
        ]
    )
    changes: dict[str, Any] = {"target": target, "wanted": wanted}
    if target != known.target:
        changes["since"] = now
    queued = row.phase == Phase.QUEUED
    if queued:
        changes["settled"] = target
    connection.execute(services.update().where(services.c.run == run).values(changes))
    change: dict[str, Any] = {**columns(_with(spec, wanted)), "attempt": target}
    change |= asks._asdict() if queued else {}
    change["priority"] = spec.get("priority", row.priority)
    after = connection.execute(runs.update().where(runs.c.id == run).values(change).returning(runs)).one()
    topic, kind = (Topic.SCHEDULER, "run-queued") if queued else (Topic.OPERATOR, "run-admitted")
    enqueue(connection, now, kind, run, topic, attempt=target)
    return records.run(after)


def _target(
    connection: Connection,
    row: Row[Any],
    known: Row[Any],
    spec: Mapping[str, Any],
    now: datetime,
) -> int:
    """Return the revision that makes such pods, a new one where neither the target nor the settled one does."""
    for number in (known.target, known.settled):
        if same_pods(dict(_revision(connection, row.id, number)), dict(spec)):
            return int(number)
    last = select(func.max(revisions.c.revision)).where(revisions.c.run == row.id)
    number = int(connection.execute(last).scalar_one()) + 1
    connection.execute(revisions.insert().values(run=row.id, revision=number, spec=dict(spec), created=now))
    return number


def _address(row: Any) -> str:
    """Return the label of a service, from a row with its address, and its run's owner and name."""
    return str(row.address or former_address(row.owner, row.name))


def _new_address(connection: Connection, row: Row[Any]) -> str | None:
    """Return what is kept as the address of a service's new run: that of its last run, a new one where it has none."""
    query = select(services.c.address).join(runs, runs.c.id == services.c.run)
    query = query.where(runs.c.definition == row.definition).order_by(services.c.run.desc()).limit(1)
    before = connection.execute(query).one_or_none()
    return address(row.owner, row.name) if before is None else before.address


def _earlier(connection: Connection, row: Row[Any]) -> Problem | None:
    """Return that a run of the group or the queue waits for quota whose turn is before this service's growth."""
    query = select(runs.c.id, runs.c.group_name, runs.c.queue, runs.c.waits_for).where(
        runs.c.phase == Phase.QUEUED,
        runs.c.priority >= row.priority,
        or_(runs.c.group_name == row.group_name, runs.c.queue == row.queue),
    )
    for other in connection.execute(query.limit(100)):
        codes = {reason.get("code") for reason in other.waits_for}
        shared = [name for name in BEHIND if getattr(other, name) == getattr(row, name)]
        if any(codes & BEHIND[name] for name in shared):
            return Problem(
                "behind",
                Phrase(
                    "An earlier run of the group or the queue waits for what is free; more replicas come after it."
                ),
                f"service {row.name}",
                Phrase("run {id}", id=other.id),
                remedy=Phrase(
                    "Wait until it has begun, stop it, or ask the administrator for a larger quota."
                ),
            )
    return None


def _row(connection: Connection, run: str) -> Row[Any]:
    row = connection.execute(NAMED.where(services.c.run == run)).one_or_none()
    if row is None:
        raise missing(Phrase("{kind} {name}", kind=noun("service"), name=run[:40]), "service")
    return row


def _revision(connection: Connection, run: str, number: int) -> Mapping[str, Any]:
    query = select(revisions.c.spec).where(revisions.c.run == run, revisions.c.revision == number)
    found = connection.execute(query).scalar()
    if found is None:
        raise missing(f"revision {number} of the service {run[:40]}", "revision")
    return dict(found)


def _service(row: Row[Any]) -> Service:
    return records.record(Service, row, address=_address(row))


def _ended(row: Row[Any]) -> ApiError:
    found = "it is to be stopped" if row.stop is not None else str(row.phase)
    return conflict(
        "service-not-running",
        Phrase("The service {name} cannot be changed now.", name=row.name),
        Phrase("run {id}", id=row.id),
        Phrase("Wait until it runs, or start it again."),
        found=found,
        wanted=Phase.ADMITTED.value,
    )


def _role(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    role: Mapping[str, Any] = (spec.get("roles") or [{}])[0]
    return role


def _replicas(spec: Mapping[str, Any]) -> int:
    return int(_role(spec).get("replicas", 1))


def _with(spec: Mapping[str, Any], replicas: int) -> dict[str, Any]:
    """Return a definition with so many replicas: what is shown of a run follows its number."""
    return dict(spec) | {"roles": [{**_role(spec), "replicas": replicas}]}


def _each(spec: Mapping[str, Any]) -> Resources:
    """Return what one replica asks for."""
    each = _role(spec).get("each") or {}
    return Resources(each.get("gpu", 0), each.get("cpu", 1000), each.get("memory", 2**30))


def _scaling(spec: Mapping[str, Any]) -> Scaling | None:
    reply = (spec.get("serving") or {}).get("scaling")
    return Scaling.model_validate(reply) if reply else None
