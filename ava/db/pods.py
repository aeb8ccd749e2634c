"""Pods of runs, as the operator last saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, Select, select

from ava.db import records
from ava.db.base import Base, reading, upsert, writing
from ava.db.lookup import Lock, run_row
from ava.db.tables import pods
from ava.db.types import plain, plain_document
from ava.domain.model import PodState


class Pods(Base):
    """What was last seen of pods."""

    @writing
    def record(self, connection: Connection, run: str, states: Sequence[PodState], now: datetime) -> None:
        """Replace what is known of a run's pods; what pods say of themselves is cut, never refused."""
        run_row(connection, run, Lock.KEY_SHARE)
        query = select(pods.c.pod, pods.c.state).where(pods.c.run == run)
        before = {row.pod: row.state for row in connection.execute(query)}
        seen = {plain(pod.pod, 253): plain_document(records.pod_document(pod)) for pod in states}
        # Of one that waits since when; never later than now.
        since = {plain(pod.pod, 253): min(pod.seen or now, now).isoformat() for pod in states}
        gone = [name for name in before if name not in seen]
        if gone:
            connection.execute(pods.delete().where(pods.c.run == run, pods.c.pod.in_(gone)))
        changed = [
            {"run": run, "pod": name, "state": state | {"seen": since[name]}}
            for name, state in seen.items()
            if state != {key: v for key, v in before.get(name, {}).items() if key != "seen"}
        ]
        if changed:
            put = upsert(connection, pods)
            put = put.on_conflict_do_update(index_elements=["run", "pod"], set_={"state": put.excluded.state})
            connection.execute(put, changed)

    @reading
    def list(self, connection: Connection, runs: Sequence[str]) -> Mapping[str, Sequence[PodState]]:
        """Return what was last seen of the pods of runs, by role and index."""
        found = pod_states(connection, list(runs))
        return {run: found.get(run, []) for run in runs}


def pod_states(
    connection: Connection, which: Sequence[str] | Select[tuple[str]]
) -> Mapping[str, Sequence[PodState]]:
    """Return what was last seen of the pods of given or selected runs, by role and index; runs without pods are left out."""
    found: dict[str, list[PodState]] = {}
    for row in connection.execute(select(pods).where(pods.c.run.in_(which))):
        found.setdefault(row.run, []).append(records.pod_state(row.run, row.pod, row.state))
    return {run: sorted(some, key=lambda p: (p.attempt, p.role, p.index)) for run, some in found.items()}
