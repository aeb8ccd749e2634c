"""What passes between the parts: the outbox, what pods do, heartbeats."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, or_, select

from ava.db import records
from ava.db.base import Base, check_limit, reading, upsert, writing
from ava.db.listener import Waiter, waiter
from ava.db.lookup import Lock, run_row
from ava.db.tables import messages, pods, runs, secrets, signs
from ava.db.tables_identities import spent
from ava.db.tables_images import image_deletions
from ava.db.types import plain, plain_document
from ava.domain.model import Message, Phase, PodState, Topic

log = logging.getLogger(__name__)
SIGN = 2**20
"""Bytes of what a part tells of itself: a cluster's nodes one by one, a few hundred bytes each."""


class OutboxStore(Base):
    """The outbox, pods and heartbeats."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._waiters: dict[Topic, Waiter] = {topic: waiter(engine, topic) for topic in Topic}

    @reading
    def open_messages(
        self,
        connection: Connection,
        topic: Topic,
        limit: int = 100,
        after: int = 0,
        cluster: str | None = None,
    ) -> Sequence[Message]:
        """Return messages that nobody has done yet, in order.

        Args:
            connection: to the database.
            topic: whose they are.
            limit: how many.
            after: a message's number, to continue from it.
            cluster: leave out those of runs that another cluster has: its own operator takes them. Runs that are queued and
                messages of no run are everybody's.
        """
        check_limit(limit)
        query = select(messages).where(messages.c.topic == Topic(topic), messages.c.done.is_(None))
        query = query.where(messages.c.seq > after)
        if cluster is not None:
            ours = or_(runs.c.id.is_(None), runs.c.cluster == cluster, runs.c.phase == Phase.QUEUED)
            query = query.outerjoin(runs, runs.c.id == messages.c.object).where(ours)
        return [
            records.message(row) for row in connection.execute(query.order_by(messages.c.seq).limit(limit))
        ]

    @writing
    def done(self, connection: Connection, seqs: Sequence[int], now: datetime) -> None:
        """Mark messages as carried out."""
        if seqs:
            update = messages.update().where(messages.c.seq.in_(seqs), messages.c.done.is_(None))
            connection.execute(update.values(done=now))

    def wait(self, topic: Topic, seconds: float) -> bool:
        """Wait until a message may be there (LISTEN/NOTIFY) or the time is over."""
        return self._waiters[Topic(topic)].wait(seconds)

    @writing
    def record_pod_state(
        self, connection: Connection, run: str, states: Sequence[PodState], now: datetime
    ) -> None:
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
    def pods(self, connection: Connection, runs: Sequence[str]) -> Mapping[str, Sequence[PodState]]:
        """Return what was last seen of the pods of runs, by role and index."""
        found: dict[str, list[PodState]] = {run: [] for run in runs}
        for row in connection.execute(select(pods).where(pods.c.run.in_(list(found)))):
            found[row.run].append(records.pod_state(row.run, row.pod, row.state))
        return {run: sorted(some, key=lambda p: (p.attempt, p.role, p.index)) for run, some in found.items()}

    @writing
    def heartbeat(self, connection: Connection, part: str, now: datetime, detail: Mapping[str, Any]) -> None:
        """Keep a heartbeat of ``operator``, ``scheduler`` … with what it says of itself."""
        kept = plain_document(detail, size=SIGN)
        if "left_out" in kept:
            log.error(
                "the heartbeat of %s is too large, its details are not kept: %s", part, kept["left_out"]
            )
        row = {"part": part, "at": now, "detail": kept}
        put = upsert(connection, signs).values(row)
        put = put.on_conflict_do_update(
            index_elements=["part"], set_={"at": put.excluded["at"], "detail": put.excluded.detail}
        )
        connection.execute(put)

    @reading
    def heartbeats(self, connection: Connection) -> Mapping[str, tuple[datetime, Mapping[str, Any]]]:
        """Return the last heartbeat of each part."""
        return {row.part: (row.at, row.detail) for row in connection.execute(select(signs))}

    @writing
    def sweep(self, connection: Connection, before: datetime) -> int:
        """Remove messages that were done, and what ended before a time; return how many.

        Sessions, tokens, used logins, and deletions of images that broke off.
        """
        done = connection.execute(messages.delete().where(messages.c.done < before))
        # Where no storage service is, nobody takes these; where one is, its passes do the same work.
        never = messages.c.topic == Topic.STORAGE, messages.c.created < before
        done_too = connection.execute(messages.delete().where(*never)).rowcount
        ended = connection.execute(secrets.delete().where(secrets.c.until < before))
        used = connection.execute(spent.delete().where(spent.c.until < before))
        broken = connection.execute(image_deletions.delete().where(image_deletions.c.until < before))
        return done.rowcount + done_too + ended.rowcount + used.rowcount + broken.rowcount
