"""Queues."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db import records
from ava.db.base import Base, new_id, reading, refuse, upsert, writing
from ava.db.lookup import Lock, row_of
from ava.db.outbox import enqueue
from ava.db.pools import check_shared, out_of_range
from ava.db.tables import pools, queues, runs
from ava.domain.model import Phase, Queue, Quota, Topic
from ava.domain.names import name_problems, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, conflict, missing, taken
from ava.domain.quota import below_use, quota_problems

PRIORITY = 50
DEFAULT = "default"
"""The queue that definitions are in that name none."""


QUEUES_BY_PRIORITY = (
    select(queues).where(queues.c.deleted.is_(None)).order_by(queues.c.priority.desc(), queues.c.name)
)
"""All queues, highest priority first."""


class Queues(Base):
    """Queues: how work is let in."""

    @writing
    def put(
        self,
        connection: Connection,
        name: str,
        now: datetime,
        *,
        pool: str | None = None,
        quota: Quota | None = None,
        priority: int | None = None,
        known: bool | None = None,
    ) -> Queue:
        """Make or change a queue; 409 below what it uses. With ``known`` true 404 for a new name, false 409 for a known one."""
        problems = [*name_problems(name, "name"), *(quota_problems(quota, "quota") if quota else ())]
        if priority is not None and not 0 <= priority <= 1000:
            problems.append(out_of_range("priority", priority, 0, 1000))
        refuse(problems)
        if pool is not None:
            _check_pool(connection, pool)
        if known:
            queue_row(connection, name, Lock.NO_KEY_UPDATE)
        new = {"name": name, "id": new_id("q", now), "priority": PRIORITY}
        put = upsert(connection, queues).values(new).on_conflict_do_nothing(index_elements=["name"])
        # The driver of PostgreSQL keeps no count of an INSERT's rows.
        made = connection.execute(put.returning(queues.c.name)).first() is not None
        # One that was deleted begins again; its runs and charges stay known.
        again = {
            "deleted": None,
            "pool": None,
            "priority": PRIORITY,
            **records.limits(Quota(None, None, None), queues),
        }
        revive = queues.update().where(queues.c.name == name, queues.c.deleted.is_not(None)).values(again)
        made |= connection.execute(revive).rowcount > 0
        if known is False and not made:
            raise taken("queue", name, name)
        row = queue_row(connection, name, Lock.NO_KEY_UPDATE)
        changes: dict[str, Any] = {}
        if quota is not None:
            refuse(below_use(quota, records.used(row), Phrase("queue {name}", name=name)), 409)
            changes |= records.limits(quota, queues)
        if pool is not None:
            target = connection.execute(select(pools).where(pools.c.name == pool)).one()
            check_shared(connection, records.pool(target), [name])
            changes["pool"] = pool
        if priority is not None:
            changes["priority"] = priority
        if changes:
            row = connection.execute(
                queues.update().where(queues.c.name == name).values(changes).returning(queues)
            ).one()
        enqueue(connection, now, "queue-changed", name, Topic.SCHEDULER)
        return records.queue(row)

    @reading
    def list(self, connection: Connection) -> Sequence[Queue]:
        """Return all queues, highest priority first, then by name."""
        return [records.queue(row) for row in connection.execute(QUEUES_BY_PRIORITY)]

    @writing
    def delete(self, connection: Connection, name: str, now: datetime) -> None:
        """Delete a queue in which no run is that has not finished; 409 else, and for the one that runs are in by themselves."""
        if name == DEFAULT:
            what = Phrase("It is the default queue.")
            raise conflict(
                "queue-default", what, Phrase("queue {name}", name=name), Phrase("Change its limits instead.")
            )
        row = queue_row(connection, name, Lock.UPDATE)
        inside = runs.c.queue == row.name, runs.c.phase != Phase.FINISHED
        if count := connection.execute(select(func.count()).select_from(runs).where(*inside)).scalar_one():
            raise conflict(
                "queue-in-use",
                Phrase("The queue {name} is still used.", name=row.name),
                Phrase("queue {name}", name=row.name),
                Phrase("Wait until they have ended, or stop them; then do it again."),
                found=Phrase("{count} runs that have not finished", count=count),
                wanted=Phrase("none"),
            )
        # Its name is free for a new queue; it holds no pool any more.
        connection.execute(queues.update().where(queues.c.name == row.name).values(deleted=now, pool=None))
        enqueue(connection, now, "queue-changed", row.name, Topic.SCHEDULER)


def queue_row(connection: Connection, name: str, lock: Lock = Lock.NONE) -> Row[Any]:
    """Return the row of a queue that is not deleted; 404."""
    query = select(queues).where(queues.c.name == name, queues.c.deleted.is_(None))
    row = None if name_problems(name, "") else row_of(connection, query, lock)
    if row is None:
        raise missing(Phrase("queue {name}", name=shown(name)), "queue")
    return row


def _check_pool(connection: Connection, pool: str) -> None:
    held = select(pools.c.name).where(pools.c.name == pool)
    if name_problems(pool, "") or row_of(connection, held, Lock.KEY_SHARE) is None:
        known = [row.name for row in connection.execute(select(pools.c.name).order_by(pools.c.name))]
        refuse(
            [
                Problem(
                    "pool-unknown",
                    Phrase("There is no such pool."),
                    "pool",
                    shown(pool),
                    Phrase("one of {names}", names=", ".join(known[:20]))
                    if known
                    else "a pool; there is none yet",
                    Phrase("Make the pool first."),
                )
            ]
        )
