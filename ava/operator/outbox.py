"""Messages of the database: each is done when its run was looked at after it had been taken."""

from __future__ import annotations

from collections.abc import Collection

from ava.db.database import Database
from ava.domain.model import Message, Topic
from ava.kube.for_each import for_each
from ava.operator.db_executor import DbExecutor
from ava.operator.reconciler import utc
from ava.operator.work_queue import WorkQueue

AT_ONCE = 1000
POLL = 5.0
"""Seconds after which it looks although no one called."""


class Outbox:
    """Takes what is for this cluster; what is for another's operator is left to it."""

    def __init__(self, db: Database, threads: DbExecutor, queue: WorkQueue, cluster: str) -> None:
        self.db, self.threads, self.queue, self.cluster = db, threads, queue, cluster
        self._open: dict[str, set[int]] = {}
        self._known: set[int] = set()

    async def take(self) -> None:
        """Take what is open, then wait for more."""
        found: list[Message] = []
        more = AT_ONCE
        while more == AT_ONCE:
            last = found[-1].seq if found else 0
            page = await self.threads(self.db.outbox.list_open, Topic.OPERATOR, AT_ONCE, last, self.cluster)
            more = len(page)
            found += page
        self._known &= {message.seq for message in found}
        nothing: list[int] = []

        async def one(message: Message) -> None:
            if not message.kind.startswith("run-"):
                nothing.append(message.seq)
            else:
                self._open.setdefault(message.object, set()).add(message.seq)
                self.queue.add(message.object)
            self._known.add(message.seq)

        await for_each("outbox", [m for m in found if m.seq not in self._known], one)
        await self.end(nothing)
        await self.threads(self.db.outbox.wait, Topic.OPERATOR, POLL)

    def begin(self, run: str) -> Collection[int]:
        """Return the messages that the look which begins now carries out; they come again only by the database."""
        seqs = self._open.pop(run, set())
        self._known -= seqs
        return seqs

    async def end(self, seqs: Collection[int]) -> None:
        """Mark messages as carried out."""
        if seqs:
            await self.threads(self.db.outbox.complete, list(seqs), utc())
