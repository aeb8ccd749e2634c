"""Nodes for administrators: what runs on one, and having its runs leave it for maintenance."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import Ref, router
from ava.schemas.node_drains import NodeDrainPut, NodeQuery, NodeRunsOut
from ava.schemas.runs import RunOut
from ava.services import node_drains

routes = router("nodes")


@routes.get("/nodes/{node}")
def show_node(
    node: Ref, context: CurrentContext, caller: Someone, query: Annotated[NodeQuery, Query()]
) -> NodeRunsOut:
    """Return whether a node is drained, and the runs on it with owner and age."""
    return node_drains.show_node(context, caller, node, query)


@routes.put("/nodes/{node}/drain")
def drain(node: Ref, body: NodeDrainPut, context: CurrentContext, caller: Someone) -> NodeRunsOut:
    """Have the runs of a node leave it by a time, and notify their owners. The first time stays until it is withdrawn.

    Workbenches are stopped then, with their disks kept; services get replicas elsewhere first; trainings end by themselves,
    when their owners agree, or with ``stop_runs`` at that time. The node has to be cordoned: where it takes pods for more than a
    minute, the drain is withdrawn.
    """
    return node_drains.drain(context, caller, node, body)


@routes.delete("/nodes/{node}/drain", status_code=204)
def withdraw(
    node: Ref, context: CurrentContext, caller: Someone, query: Annotated[NodeQuery, Query()]
) -> None:
    """Let the runs of a node stay. Idempotent."""
    node_drains.withdraw(context, caller, node, query)


@routes.post("/runs/{id}/consent")
def consent(id: Ref, context: CurrentContext, caller: Someone) -> RunOut:
    """Agree that a training on a node that is drained is ended when the notice is over. Idempotent."""
    return node_drains.consent(context, caller, id)
