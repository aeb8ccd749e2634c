"""Queues and pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db import records
from ava.db.base import Base, reading, refuse, upsert, writing
from ava.db.lookup import Lock, row_of
from ava.db.pool_uses import admitted_to, check_change, check_shared, told
from ava.db.tables import pools, queues, runs
from ava.domain.model import Phase, Pool, Queue, Quota, Topic
from ava.domain.names import is_id, name_problems, shown
from ava.domain.phrases import Phrase, listed
from ava.domain.placement.pools import pool_for
from ava.domain.problems import Problem, conflict, missing, taken
from ava.domain.quota import below_use, quota_problems

PRIORITY = 50
DEFAULT = "default"
"""The queue that definitions are in that name none."""
RATIO = 1.0, 100.0
SLOTS = 1, 64


QUEUES_BY_PRIORITY = (
    select(queues).where(queues.c.deleted.is_(None)).order_by(queues.c.priority.desc(), queues.c.name)
)
"""All queues, highest priority first."""
POOLS_BY_NAME = select(pools).order_by(pools.c.name)


class QueueStore(Base):
    """Queues and pools: how work is let in, and where it goes."""

    @writing
    def put_queue(
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
            problems.append(_out_of("priority", priority, 0, 1000))
        refuse(problems)
        if pool is not None:
            _check_pool(connection, pool)
        if known:
            queue_row(connection, name, Lock.NO_KEY_UPDATE)
        new = {"name": name, "id": self.new_id("q", now), "priority": PRIORITY}
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
        self.enqueue(connection, now, "queue-changed", name, Topic.SCHEDULER)
        return records.queue(row)

    @reading
    def queues(self, connection: Connection) -> Sequence[Queue]:
        """Return all queues, highest priority first, then by name."""
        return [records.queue(row) for row in connection.execute(QUEUES_BY_PRIORITY)]

    @writing
    def delete_queue(self, connection: Connection, name: str, now: datetime) -> None:
        """Delete a queue in which no run is that has not finished; 409 else, and for the one that runs are in by themselves."""
        if name == DEFAULT:
            what = Phrase("Whoever names no queue is in this one.")
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
        self.enqueue(connection, now, "queue-changed", row.name, Topic.SCHEDULER)

    @writing
    def delete_pool(self, connection: Connection, name: str) -> None:
        """Delete a pool that no queue names and no run that has not finished goes to; 409 else."""
        known = select(pools).where(pools.c.name == name)
        row = None if name_problems(name, "") else row_of(connection, known, Lock.UPDATE)
        if row is None:
            raise missing(Phrase("pool {name}", name=shown(name)), "pool")
        named = select(queues.c.name).where(queues.c.pool == name, queues.c.deleted.is_(None))
        used: list[str] = [
            Phrase("queue {name}", name=queue)
            for queue in connection.execute(named.order_by(queues.c.name)).scalars()
        ]
        every = [records.pool(row) for row in connection.execute(select(pools))]
        if pool_for(row.gpu, None, every) == name:
            kind = runs.c.gpu > 0 if row.gpu else runs.c.gpu == 0
            open_ones = runs.c.phase != Phase.FINISHED, kind, queues.c.pool.is_(None)
            inside = select(func.count()).select_from(runs.join(queues)).where(*open_ones)
            if count := connection.execute(inside).scalar_one():
                used.append(Phrase("{count} runs that have not finished", count=count))
        if admitted := admitted_to(connection, name):
            used.append(told(admitted, "admitted to it"))
        if used:
            raise conflict(
                "pool-in-use",
                Phrase("The pool {name} is still used.", name=name),
                Phrase("pool {name}", name=name),
                Phrase(
                    "Give these queues another pool, and wait until the runs have ended, or stop them; then do it again."
                ),
                found=listed(used[:20]),
                wanted=Phrase("nothing"),
            )
        connection.execute(pools.delete().where(pools.c.name == name))

    @writing
    def put_pool(self, connection: Connection, pool: Pool, *, known: bool | None = None) -> Pool:
        """Make or change a pool; ``known`` true only changes one, false only makes one. 409 while runs are in the way."""
        refuse(_pool_problems(pool))
        check_change(connection, pool)
        values = {
            "name": pool.name,
            "id": pool.id if is_id(pool.id) else self.new_id("p", datetime.now(UTC)),
            "gpu": pool.gpu,
            "selector": dict(pool.selector),
            "cpu_ratio": float(pool.cpu_ratio),
            "memory_ratio": float(pool.memory_ratio),
            "gpu_slots": pool.gpu_slots,
        }
        changed = {key: value for key, value in values.items() if key not in ("name", "id")}
        new = upsert(connection, pools).values(values)
        change = pools.update().where(pools.c.name == pool.name).values(changed).returning(pools.c.id)
        make = new.on_conflict_do_nothing(index_elements=["name"]).returning(pools.c.id)
        either = new.on_conflict_do_update(index_elements=["name"], set_=changed).returning(pools.c.id)
        id = connection.execute(change if known else make if known is False else either).scalar_one_or_none()
        if id is None:
            raise (
                missing(Phrase("pool {name}", name=shown(pool.name)), "pool")
                if known
                else taken("pool", pool.name, pool.name)
            )
        return replace(pool, id=str(id))

    @reading
    def pools(self, connection: Connection) -> Sequence[Pool]:
        """Return all pools by name."""
        return [records.pool(row) for row in connection.execute(POOLS_BY_NAME)]


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


def _pool_problems(pool: Pool) -> Sequence[Problem]:
    problems = [*name_problems(pool.name, "name")]
    for name in ("cpu_ratio", "memory_ratio"):
        if not RATIO[0] <= getattr(pool, name) <= RATIO[1]:
            problems.append(_out_of(name, getattr(pool, name), *RATIO))
    if not SLOTS[0] <= pool.gpu_slots <= SLOTS[1]:
        problems.append(_out_of("gpu_slots", pool.gpu_slots, *SLOTS))
    if not isinstance(pool.selector, Mapping) or len(pool.selector) > 50:
        problems.append(
            Problem(
                "selector-invalid",
                Phrase("The labels of nodes are not valid."),
                "selector",
                "",
                Phrase("50 labels at most"),
            )
        )
    return problems


def _out_of(name: str, value: float, low: float, high: float) -> Problem:
    return Problem(
        "number-invalid",
        Phrase("{name} is out of range.", name=name),
        name,
        str(value)[:40],
        Phrase("from {least} to {most}", least=f"{low:g}", most=f"{high:g}"),
        Phrase("Correct it."),
    )
