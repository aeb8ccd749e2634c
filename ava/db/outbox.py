"""The outbox: messages that a transaction leaves for other programs, and the wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, or_, select

from ava.db import records
from ava.db.base import Base, check_limit, reading, writing
from ava.db.listener import Waiter, waiter
from ava.db.tables import image_deletions, messages, runs, secrets, spent
from ava.domain.model import Message, Phase, Topic


class Outbox(Base):
    """Messages, each until what it asks for was carried out."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._waiters: dict[Topic, Waiter] = {topic: waiter(engine, topic) for topic in Topic}

    def close(self) -> None:
        """Give the connections back on which threads wait."""
        for one in self._waiters.values():
            one.close()

    @reading
    def list_open(
        self,
        connection: Connection,
        topic: Topic,
        limit: int = 100,
        after: int = 0,
        cluster: str | None = None,
    ) -> Sequence[Message]:
        """Return messages that are not done yet, in order.

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
    def complete(self, connection: Connection, seqs: Sequence[int], now: datetime) -> None:
        """Mark messages as carried out."""
        if seqs:
            update = messages.update().where(messages.c.seq.in_(seqs), messages.c.done.is_(None))
            connection.execute(update.values(done=now))

    def wait(self, topic: Topic, seconds: float) -> bool:
        """Wait until a message may be there (LISTEN/NOTIFY) or the time is over."""
        return self._waiters[Topic(topic)].wait(seconds)

    @writing
    def sweep(self, connection: Connection, before: datetime) -> int:
        """Remove messages that were done, and what ended before a time; return how many.

        Sessions, tokens, used logins, and deletions of images that broke off.
        """
        done = connection.execute(messages.delete().where(messages.c.done < before))
        # Where no storage service is, no one takes these; where one is, its passes do the same work.
        never = messages.c.topic == Topic.STORAGE, messages.c.created < before
        done_too = connection.execute(messages.delete().where(*never)).rowcount
        ended = connection.execute(secrets.delete().where(secrets.c.until < before))
        used = connection.execute(spent.delete().where(spent.c.until < before))
        broken = connection.execute(image_deletions.delete().where(image_deletions.c.until < before))
        return done.rowcount + done_too + ended.rowcount + used.rowcount + broken.rowcount


def enqueue(
    connection: Connection, now: datetime, kind: str, object: str, *topics: Topic, **payload: Any
) -> None:
    """Write messages into the outbox, in the transaction that decided them."""
    rows = [
        {"topic": topic, "kind": kind, "object": object, "payload": payload, "created": now}
        for topic in topics
    ]
    connection.execute(messages.insert(), rows)
