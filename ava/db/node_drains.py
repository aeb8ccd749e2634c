"""Nodes that their runs shall leave: begun and withdrawn by administrators, carried out by the operator.

A transaction locks the drain's row before those of runs: what was withdrawn stops nothing any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db import records
from ava.db.audit import write_line
from ava.db.base import Base, outlined, reading, upsert, writing
from ava.db.lookup import Lock, row_of, run_row
from ava.db.outbox import enqueue
from ava.db.pods import pod_states
from ava.db.runs import stop_run
from ava.db.tables import node_drain_runs, node_drains, runs
from ava.domain.model import Kind, Phase, PodState, Run, Topic
from ava.domain.node_drains import NOTICE, WITHDRAWN, NodeDrain, leaves_at, nodes_of, notice, stopped
from ava.domain.phrases import Phrase
from ava.domain.pod_status import ENDED
from ava.domain.problems import conflict


class NodeDrains(Base):
    """Nodes that are drained, the runs whose owners were notified, and who agreed."""

    @reading
    def list(self, connection: Connection, cluster: str | None = None) -> Sequence[NodeDrain]:
        """Return the nodes that are drained, of one cluster or of all."""
        query = select(node_drains).order_by(node_drains.c.cluster, node_drains.c.node)
        if cluster is not None:
            query = query.where(node_drains.c.cluster == cluster)
        return [records.record(NodeDrain, row) for row in connection.execute(query)]

    @reading
    def consents(self, connection: Connection, some: Collection[str]) -> Collection[tuple[str, str]]:
        """Return (run, node) of those runs whose owners have agreed to their end."""
        return _consents(connection, some)

    @reading
    def runs_on(
        self, connection: Connection, cluster: str, node: str
    ) -> Sequence[tuple[Run, Sequence[PodState]]]:
        """Return the admitted runs that have pods on a node, oldest first, each with all of its pods.

        Also those of which only pods of earlier attempts may still be there.
        """
        found = _admitted_pods(connection, cluster)
        on = [(run, some) for run, some in found if any(_is_on(pod, node) for pod in some)]
        return sorted(on, key=lambda pair: pair[0].id)

    @writing
    def begin(
        self,
        connection: Connection,
        cluster: str,
        node: str,
        now: datetime,
        *,
        by: str,
        wait: timedelta,
        stop_runs: bool,
    ) -> NodeDrain:
        """Have the runs of a node leave it, and notify their owners, each once.

        Asked again, the first time stays: a repeated request neither shortens nor lengthens a notice. ``stop_runs`` follows the
        last request, and trainings have their whole notice from the first one that had it.
        """
        row = {"cluster": cluster, "node": node, "asked_by": by, "begun": now, "until": now + wait}
        put = upsert(connection, node_drains).values(row).on_conflict_do_nothing()
        connection.execute(put)
        before = _row(connection, cluster, node, Lock.UPDATE)
        assert before is not None  # noqa: S101 - it was just written, and is locked
        runs_until = (before.runs_until or now + wait) if stop_runs else None
        which = node_drains.c.cluster == cluster, node_drains.c.node == node
        connection.execute(node_drains.update().where(*which).values(runs_until=runs_until))
        drain = NodeDrain(cluster, node, before.asked_by, before.begun, before.until, runs_until)
        there = [run for run, some in _admitted_pods(connection, cluster) if node in nodes_of(run, some)]
        again = runs_until is not None and before.runs_until is None
        _notify(connection, drain, there, now, again=Kind.TRAINING if again else None)
        return drain

    @writing
    def withdraw(self, connection: Connection, cluster: str, node: str, now: datetime) -> bool:
        """Let the runs of a node stay, and notify their owners; return whether it was drained."""
        if _row(connection, cluster, node, Lock.UPDATE) is None:
            return False
        which = node_drain_runs.c.cluster == cluster, node_drain_runs.c.node == node
        notified = select(runs).join(node_drain_runs, node_drain_runs.c.run == runs.c.id).where(*which)
        notified = notified.where(runs.c.phase == Phase.ADMITTED, runs.c.stop.is_(None))
        for row in connection.execute(notified.order_by(runs.c.id)).all():
            reason = Phrase("The maintenance of node {node} is over or was called off.", node=node)
            enqueue(connection, now, WITHDRAWN, row.id, Topic.NOTICE, node=node, reason=str(reason))
        connection.execute(node_drain_runs.delete().where(*which))
        gone = node_drains.delete().where(node_drains.c.cluster == cluster, node_drains.c.node == node)
        connection.execute(gone)
        return True

    @writing
    def notify(
        self, connection: Connection, cluster: str, node: str, some: Iterable[str], now: datetime
    ) -> None:
        """Notify the owners of runs that came to a node while its drain began, each once."""
        row = _row(connection, cluster, node, Lock.SHARE)
        if row is not None:
            there = [records.run(run_row(connection, id)) for id in sorted(some)]
            _notify(connection, records.record(NodeDrain, row), there, now)

    @writing
    def consent(self, connection: Connection, run: str, now: datetime) -> Sequence[NodeDrain]:
        """Keep that the owner of a training agrees to its end when its node's notice is over; 409 where none is drained."""
        found = records.run(run_row(connection, run))
        states = pod_states(connection, [run]).get(run, ())
        drains = []
        for node in sorted(nodes_of(found, states)) if found.stop is None else []:
            row = _row(connection, found.cluster, node, Lock.SHARE)
            if row is not None:
                drains.append(records.record(NodeDrain, row))
        if found.kind is not Kind.TRAINING or found.phase is not Phase.ADMITTED or not drains:
            raise conflict(
                "run-not-on-drained-node",
                Phrase("No maintenance waits for the end of this run."),
                Phrase("run {id}", id=run),
                Phrase("Stop the run to end it now."),
                found=Phrase("{kind}, {phase}", kind=found.kind.value, phase=found.phase.value),
                wanted=Phrase("a training with a pod on a node that is drained"),
            )
        for drain in drains:
            row_ = {"cluster": drain.cluster, "node": drain.node, "run": run, "consented": now}
            put = upsert(connection, node_drain_runs).values(row_)
            keys = ["cluster", "node", "run"]
            connection.execute(
                put.on_conflict_do_update(
                    index_elements=keys,
                    set_={"consented": now},
                    where=node_drain_runs.c.consented.is_(None),
                )
            )
        return drains

    @writing
    def stop_due(
        self, connection: Connection, cluster: str, node: str, some: Iterable[str], now: datetime
    ) -> Sequence[Run]:
        """Ask for the end of those runs on a node whose time is over; return them. Services are left out: they move.

        Args:
            connection: to the database.
            cluster: the node's.
            node: its name.
            some: ids of the runs that have pods there.
            now: the time, UTC.
        """
        row = _row(connection, cluster, node, Lock.SHARE)
        if row is None:
            return []
        drain, ids = records.record(NodeDrain, row), sorted(some)
        agreed = _consents(connection, ids)
        done = []
        for id in ids:
            run = run_row(connection, id, Lock.NO_KEY_UPDATE)
            if run.kind == Kind.SERVICE or run.phase != Phase.ADMITTED or run.stop is not None:
                continue
            at = leaves_at(drain, Kind(run.kind), (id, node) in agreed)
            if at is None or now < at:
                continue
            done.append(stop_run(connection, id, now, by=drain.asked_by, reason=stopped(drain)))
            detail = {"owner": run.owner, "node": node}
            write_line(
                connection,
                now,
                who="ava",
                action="nodes.stop-run",
                object=f"run {id}",
                outcome="done",
                detail=detail,
            )
        return done


def _notify(
    connection: Connection,
    drain: NodeDrain,
    some: Iterable[Run],
    now: datetime,
    *,
    again: Kind | None = None,
) -> None:
    """Notify the owners of runs that do not end already, who were not yet; those of one kind again."""
    agreed = _consents(connection, [run.id for run in some])
    for run in some:
        if run.stop is not None:
            continue
        row = {"cluster": drain.cluster, "node": drain.node, "run": run.id}
        put = upsert(connection, node_drain_runs).values(row).on_conflict_do_nothing()
        # The number of rows of an INSERT is not known with PostgreSQL's driver.
        new = connection.execute(put.returning(node_drain_runs.c.run)).one_or_none()
        if new is not None or run.kind is again:
            consented = (run.id, drain.node) in agreed
            text, at = notice(drain, run.kind, consented), leaves_at(drain, run.kind, consented)
            until = at.isoformat() if at else None
            enqueue(
                connection, now, NOTICE, run.id, Topic.NOTICE, node=drain.node, until=until, reason=str(text)
            )


def _row(connection: Connection, cluster: str, node: str, lock: Lock) -> Row[Any] | None:
    query = select(node_drains).where(node_drains.c.cluster == cluster, node_drains.c.node == node)
    return row_of(connection, query, lock)


def _consents(connection: Connection, some: Collection[str]) -> Collection[tuple[str, str]]:
    query = select(node_drain_runs.c.run, node_drain_runs.c.node).where(
        node_drain_runs.c.run.in_(list(some)), node_drain_runs.c.consented.is_not(None)
    )
    return {(row.run, row.node) for row in connection.execute(query)}


def _is_on(pod: PodState, node: str) -> bool:
    return pod.node == node and pod.phase not in ENDED


def _admitted_pods(connection: Connection, cluster: str) -> Sequence[tuple[Run, Sequence[PodState]]]:
    query = select(*outlined(runs)).where(runs.c.phase == Phase.ADMITTED, runs.c.cluster == cluster)
    found = [records.run(row) for row in connection.execute(query.order_by(runs.c.id))]
    # Not by their ids: there may be thousands.
    states = pod_states(
        connection, select(runs.c.id).where(runs.c.phase == Phase.ADMITTED, runs.c.cluster == cluster)
    )
    return [(run, states.get(run.id, ())) for run in found]
