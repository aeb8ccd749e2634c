"""Queues, the runs that wait in them, and pools of nodes."""

from __future__ import annotations

from collections import Counter

from ava.domain.model import Pool
from ava.domain.phrases import Phrase
from ava.domain.problems import missing
from ava.schemas.runs import PoolOut, PoolPut, QueueOut, QueuePut, WaitingOut
from ava.services import serializers
from ava.services.auth.authorization import authorize, record_change
from ava.services.auth.caller import Caller
from ava.services.context import Context

MOST = 1000
"""Waiting runs that are looked at, as the scheduler does."""


def list_queues(context: Context, caller: Caller) -> list[QueueOut]:
    """Return all queues, the highest priority first."""
    authorize(context, caller, "queues.list")
    db = context.db
    waiting = Counter(run.queue for run in db.runs.waiting(MOST))
    return [serializers.queue(q, waiting[q.name]) for q in db.queues.list()]


def put_queue(
    context: Context, caller: Caller, name: str, body: QueuePut, *, known: bool | None = None
) -> QueueOut:
    """Create a queue (``known`` False: nothing else), or change what is given of it (``known`` True: nothing else)."""
    authorize(context, caller, "queues.put")
    quota = serializers.quota_in(body.quota) if body.quota is not None else None
    with record_change(context, caller, "queues.put", f"queue {name}", **body.model_dump(exclude_none=True)):
        queue = context.db.queues.put(
            name,
            context.clock(),
            pool=body.pool,
            quota=quota,
            priority=body.priority,
            known=known,
        )
    return serializers.queue(queue, 0)


def delete_queue(context: Context, caller: Caller, name: str) -> None:
    """Delete a queue; 409 while a run in it has not finished."""
    authorize(context, caller, "queues.delete")
    with record_change(context, caller, "queues.delete", f"queue {name}"):
        context.db.queues.delete(name, context.clock())


def list_waiting(context: Context, caller: Caller, name: str) -> list[WaitingOut]:
    """Return what waits in a queue in the order in which it is looked at. Other people's runs have no names."""
    authorize(context, caller, "queues.waiting")
    db, me = context.db, caller.me
    if name not in {q.name for q in db.queues.list()}:
        raise missing(Phrase("queue {name}", name=name), "path.name")
    rows = [run for run in db.runs.waiting(MOST) if run.queue == name]
    found = []
    for position, run in enumerate(rows):
        mine = me.admin or run.owner == me.name
        found.append(
            WaitingOut(
                position=position,
                run=run.id if mine else None,
                name=run.name if mine else None,
                owner=run.owner if mine else None,
                group=run.group if mine else None,
                asks=serializers.amounts(run.asks),
                priority=run.priority,
                created=run.created,
            )
        )
    return found


def list_pools(context: Context, caller: Caller) -> list[PoolOut]:
    """Return all pools by name."""
    authorize(context, caller, "pools.list")
    return [serializers.pool(p) for p in context.db.pools.list()]


def put_pool(
    context: Context, caller: Caller, name: str, body: PoolPut, *, known: bool | None = None
) -> PoolOut:
    """Create a pool (``known`` False: nothing else), or change it (``known`` True: nothing else)."""
    authorize(context, caller, "pools.put")
    with record_change(context, caller, "pools.put", f"pool {name}", **body.model_dump()):
        pool = Pool(
            "", name, body.gpu, dict(body.selector), body.cpu_ratio, body.memory_ratio, body.gpu_slots
        )
        return serializers.pool(context.db.pools.put(pool, known=known))


def delete_pool(context: Context, caller: Caller, name: str) -> None:
    """Delete a pool; 409 while a queue names it or a run that has not finished goes to it."""
    authorize(context, caller, "pools.delete")
    with record_change(context, caller, "pools.delete", f"pool {name}"):
        context.db.pools.delete(name)
