"""What can be had now."""

from __future__ import annotations

from ava.http.routing import router
from ava.schemas.runs import ClusterOut
from ava.services.auth.caller import Someone
from ava.services.runs import capacity

routes = router("cluster")


@routes.get("/cluster")
def cluster(who: Someone) -> ClusterOut:
    """Return the nodes, their GPU models and what is free on them, as the scheduler last said (A-SC8)."""
    who.may("cluster.show")
    return capacity.shown(who.services)
