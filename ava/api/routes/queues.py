"""Queues, what waits in them, and pools of nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Header, Path

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.common import SettingName
from ava.schemas.runs import PoolOut, PoolPut, QueueOut, QueuePut, WaitingOut
from ava.services import queues

routes = router("queues")
Named = Annotated[SettingName, Path()]
Star = Annotated[Literal["*"] | None, Header()]


def _known(if_match: str | None, if_none_match: str | None) -> bool | None:
    """Return whether the name has to be known (RFC 9110, 13.1); None: either way."""
    return True if if_match else False if if_none_match else None


@routes.get("/queues")
def list_queues(context: CurrentContext, caller: Someone) -> list[QueueOut]:
    """Return all queues, the highest priority first."""
    return queues.list_queues(context, caller)


@routes.put("/queues/{name}")
def put_queue(
    name: Named,
    body: QueuePut,
    context: CurrentContext,
    caller: Someone,
    if_match: Star = None,
    if_none_match: Star = None,
) -> QueueOut:
    """Create a queue, or change what is given of it. `If-None-Match: *` only creates (409), `If-Match: *` only changes (404)."""
    return queues.put_queue(context, caller, name, body, known=_known(if_match, if_none_match))


@routes.delete("/queues/{name}", status_code=204)
def delete_queue(name: Ref, context: CurrentContext, caller: Someone) -> None:
    """Delete a queue; 409 while a run in it has not finished."""
    queues.delete_queue(context, caller, name)


@routes.get("/queues/{name}/runs")
def list_waiting(name: Ref, context: CurrentContext, caller: Someone) -> list[WaitingOut]:
    """Return what waits in a queue in the order in which it is looked at. Other people's runs have no names."""
    return queues.list_waiting(context, caller, name)


@routes.get("/pools")
def list_pools(context: CurrentContext, caller: Someone) -> list[PoolOut]:
    """Return all pools by name."""
    return queues.list_pools(context, caller)


@routes.put("/pools/{name}")
def put_pool(
    name: Named,
    body: PoolPut,
    context: CurrentContext,
    caller: Someone,
    if_match: Star = None,
    if_none_match: Star = None,
) -> PoolOut:
    """Create or change a pool. `If-None-Match: *` only creates (409), `If-Match: *` only changes (404)."""
    return queues.put_pool(context, caller, name, body, known=_known(if_match, if_none_match))


@routes.delete("/pools/{name}", status_code=204)
def delete_pool(name: Ref, context: CurrentContext, caller: Someone) -> None:
    """Delete a pool; 409 while a queue names it or a run that has not finished goes to it."""
    queues.delete_pool(context, caller, name)
