"""Queues, what waits in them, and pools of nodes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from fastapi import Header, Path

from ava.api.routes.common import Ref, router
from ava.domain.model import Pool
from ava.domain.problems import missing
from ava.schemas.common import SettingName
from ava.schemas.runs import PoolOut, PoolPut, QueueOut, QueuePut, WaitingOut
from ava.services import serializers
from ava.services.auth.caller import Someone

routes = router("queues")
Named = Annotated[SettingName, Path()]
Star = Annotated[Literal["*"] | None, Header()]
MOST = 1000
"""Waiting runs that are looked at, as the scheduler does."""


def _known(if_match: str | None, if_none_match: str | None) -> bool | None:
    """Return whether the name has to be known (RFC 9110, 13.1); None: either way."""
    return True if if_match else False if if_none_match else None


@routes.get("/queues")
def list_queues(who: Someone) -> list[QueueOut]:
    """Return all queues, the highest priority first."""
    who.may("queues.list")
    store = who.services.store
    waiting = Counter(run.queue for run in store.waiting(MOST))
    return [serializers.queue(q, waiting[q.name]) for q in store.queues()]


@routes.put("/queues/{name}")
def put_queue(
    name: Named, body: QueuePut, who: Someone, if_match: Star = None, if_none_match: Star = None
) -> QueueOut:
    """Create a queue, or change what is given of it. `If-None-Match: *` only creates (409), `If-Match: *` only changes (404)."""
    who.may("queues.put")
    quota = serializers.quota_in(body.quota) if body.quota is not None else None
    with who.change("queues.put", f"queue {name}", **body.model_dump(exclude_none=True)):
        queue = who.services.store.put_queue(
            name,
            who.services.clock(),
            pool=body.pool,
            quota=quota,
            priority=body.priority,
            known=_known(if_match, if_none_match),
        )
    return serializers.queue(queue, 0)


@routes.delete("/queues/{name}", status_code=204)
def delete_queue(name: Ref, who: Someone) -> None:
    """Delete a queue; 409 while a run in it has not finished."""
    who.may("queues.delete")
    with who.change("queues.delete", f"queue {name}"):
        who.services.store.delete_queue(name, who.services.clock())


@routes.get("/queues/{name}/runs")
def list_waiting(name: Ref, who: Someone) -> list[WaitingOut]:
    """Return what waits in a queue in the order in which it is looked at. Other people's runs have no names."""
    who.may("queues.waiting")
    store, me = who.services.store, who.me
    if name not in {q.name for q in store.queues()}:
        raise missing(f"queue {name}", "path.name")
    rows = [run for run in store.waiting(MOST) if run.queue == name]
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


@routes.get("/pools")
def list_pools(who: Someone) -> list[PoolOut]:
    """Return all pools by name."""
    who.may("pools.list")
    return [serializers.pool(p) for p in who.services.store.pools()]


@routes.put("/pools/{name}")
def put_pool(
    name: Named, body: PoolPut, who: Someone, if_match: Star = None, if_none_match: Star = None
) -> PoolOut:
    """Create or change a pool. `If-None-Match: *` only creates (409), `If-Match: *` only changes (404)."""
    who.may("pools.put")
    with who.change("pools.put", f"pool {name}", **body.model_dump()):
        pool = Pool(
            "", name, body.gpu, dict(body.selector), body.cpu_ratio, body.memory_ratio, body.gpu_slots
        )
        return serializers.pool(who.services.store.put_pool(pool, known=_known(if_match, if_none_match)))


@routes.delete("/pools/{name}", status_code=204)
def delete_pool(name: Ref, who: Someone) -> None:
    """Delete a pool; 409 while a queue names it or a run that has not finished goes to it."""
    who.may("pools.delete")
    with who.change("pools.delete", f"pool {name}"):
        who.services.store.delete_pool(name)
