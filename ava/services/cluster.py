"""The clusters as users see them: nodes, and what is free on them."""

from __future__ import annotations

from datetime import datetime

from ava.domain.placement.capacity import part
from ava.domain.placement.pools import usable
from ava.domain.states import STALE
from ava.schemas.runs import ClusterOut, NodeOut
from ava.services import serializers
from ava.services.auth.authorization import authorize
from ava.services.auth.caller import Caller
from ava.services.context import Context
from ava.services.runs import capacity


def show_cluster(context: Context, caller: Caller) -> ClusterOut:
    """Return the nodes, their GPU models and what is free on them, as the scheduler last reported (A-SC8)."""
    authorize(context, caller, "cluster.show")
    signs, report = context.db.heartbeats.list(), capacity.known(context)
    seen = [signs[part(name)][0] for name in report if part(name) in signs]
    pools = usable(context.db.pools.list())
    fresh = bool(seen) and context.clock() - min(seen) <= STALE
    nodes = [
        NodeOut(
            cluster=name,
            name=place.name,
            pools=[p.name for p in pools if p.name in place.pools],
            gpu_model=place.model,
            gpu_slots=place.slots,
            open=place.open,
            capacity=serializers.amounts(place.size),
            free=serializers.amounts(place.free),
        )
        for name, room in sorted(report.items())
        for place in room.nodes
    ]
    oldest: datetime | None = min(seen) if seen else None
    return ClusterOut(seen=oldest, fresh=fresh, clusters=sorted(context.config.clusters), nodes=nodes)
