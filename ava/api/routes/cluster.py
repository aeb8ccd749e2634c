"""What is available now."""

from __future__ import annotations

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import router
from ava.schemas.runs import ClusterOut
from ava.services.cluster import show_cluster

routes = router("cluster")


@routes.get("/cluster")
def cluster(context: CurrentContext, caller: Someone) -> ClusterOut:
    """Return the nodes, their GPU models and what is free on them, as the scheduler last reported (A-SC8)."""
    return show_cluster(context, caller)
