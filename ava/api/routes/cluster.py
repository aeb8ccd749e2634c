"""What can be had now."""

from __future__ import annotations

from ava.api import room
from ava.api.identity import Someone
from ava.api.routes.common import router
from ava.api.schemas.work import ClusterOut

routes = router("cluster")


@routes.get("/cluster")
def cluster(who: Someone) -> ClusterOut:
    """Return the nodes, their GPU models and what is free on them, as the scheduler last said (A-SC8)."""
    who.may("cluster.show")
    return room.shown(who.services)
