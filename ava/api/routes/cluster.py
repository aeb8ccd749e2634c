"""What can be had now."""

from __future__ import annotations

from ava.http.dependencies import CurrentContext, Someone
from ava.http.routing import router
from ava.schemas.runs import ClusterOut
from ava.services.auth.authorization import authorize
from ava.services.runs import capacity

routes = router("cluster")


@routes.get("/cluster")
def cluster(context: CurrentContext, caller: Someone) -> ClusterOut:
    """Return the nodes, their GPU models and what is free on them, as the scheduler last said (A-SC8)."""
    authorize(context, caller, "cluster.show")
    return capacity.shown(context)
