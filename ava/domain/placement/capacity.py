"""What a cluster has and what is free of it, small enough to be written beside the scheduler's heartbeat.

It answers, away from the scheduler, what could ever fit and what is available now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ava.domain.labels import GPU
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.filter import KEEPS_AWAY, for_gpus, in_pool
from ava.domain.resources import Resources

NODES = 1024
"""Nodes reported one by one; a larger cluster tells of the others by kinds alone."""
PART = "scheduler"
FIELD = "room"
ROLE = "node-role.kubernetes.io/"
"""What taints of masters begin with."""


class _Plain(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class NodeCapacity(_Plain):
    """A node.

    Attributes:
        slots: how many pods may share each of its cards; then ``size`` and ``free`` count slots, so many to a card.
        size: what AVA's pods could have on it beside what never leaves it: pods of DaemonSets and static pods. Pods of
            Deployments and of Kubernetes' users may move or end, and there are more of them while they are rolled out.
        free: what they can have now; nothing where it takes no pods at the moment.
        open: whether it takes pods at the moment.
    """

    name: str
    pools: tuple[str, ...]
    model: str = ""
    slots: int = 1
    size: Resources
    free: Resources
    open: bool = True


class NodeGroup(_Plain):
    """So many nodes of one size."""

    pools: tuple[str, ...]
    model: str = ""
    size: Resources
    count: Annotated[int, Field(ge=1)]


class ClusterCapacity(_Plain):
    """A cluster.

    Attributes:
        pools: the names that the scheduler knew.
        unsure: pools of which a GPU node shows no GPU at the moment (its device plug-in is away).
        complete: whether ``nodes`` has all nodes.
        waiting: runs that have no place yet.
    """

    cluster: str
    pools: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    kinds: tuple[NodeGroup, ...] = ()
    nodes: tuple[NodeCapacity, ...] = ()
    complete: bool = True
    waiting: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return self.model_dump(mode="json")


def snapshot(
    cluster: Cluster, name: str, largest: Mapping[str, Resources], *, waiting: int = 0, limit: int = NODES
) -> ClusterCapacity:
    """Return what a cluster has.

    Args:
        cluster: as the scheduler counts it.
        name: of the cluster.
        largest: the most that each node has shown of itself, so that a plug-in or a kubelet that is away for a moment does not
            make requests impossible.
        waiting: runs without a place.
        limit: nodes reported one by one, those with most free GPUs first.
    """
    pools = cluster.pools.values()
    places: list[NodeCapacity] = []
    unsure: set[str] = set()
    kinds: dict[tuple[tuple[str, ...], str, Resources], int] = {}
    for slot in cluster.slots.values():
        node = slot.node
        mine = tuple(sorted(p.name for p in pools if in_pool(p, node, pools)))
        kept = [t for t in node.taints if t.key != GPU and t.effect in KEEPS_AWAY]
        # A master is never a run's; another taint may be gone tomorrow, so its node counts, and takes nothing now.
        if not mine or any(t.key.startswith(ROLE) for t in kept):
            continue
        seen = largest.get(node.name, node.room)
        size = Resources(*(max(a, b) for a, b in zip(seen, node.room, strict=True))).minus(slot.resident())
        if size.gpu <= 0 and for_gpus(node, pools):
            unsure.update(mine)
        takes = not (node.troubles or node.cordoned or kept) and slot.spare > 0
        free = Resources(*(max(0, x) for x in slot.free)) if takes else Resources()
        size = Resources(*(max(0, x) for x in size))
        places.append(
            NodeCapacity(
                name=node.name,
                pools=mine,
                model=node.model,
                slots=node.slots,
                size=size,
                free=free,
                open=takes,
            )
        )
        kinds[mine, node.model, size] = kinds.get((mine, node.model, size), 0) + 1
    places.sort(key=lambda place: (-place.free.gpu, -place.free.cpu, place.name))
    return ClusterCapacity(
        cluster=name,
        pools=tuple(sorted(cluster.pools)),
        unsure=tuple(sorted(unsure)),
        kinds=tuple(NodeGroup(pools=p, model=m, size=s, count=c) for (p, m, s), c in sorted(kinds.items())),
        nodes=tuple(places[:limit]),
        complete=len(places) <= limit,
        waiting=waiting,
    )


def rooms(signs: Mapping[str, Mapping[str, Any]]) -> dict[str, ClusterCapacity]:
    """Return the clusters' rooms by name from the details of heartbeats; what cannot be read is left out."""
    found: dict[str, ClusterCapacity] = {}
    for part, detail in signs.items():
        if part.split(":")[0] == PART and isinstance(detail.get(FIELD), Mapping):
            try:
                room = ClusterCapacity.model_validate(detail[FIELD])
            except ValueError:
                continue
            found[room.cluster] = room
    return found


def part(cluster: str) -> str:
    """Return the name under which a cluster's scheduler gives its heartbeats."""
    return PART if cluster == "default" else f"{PART}:{cluster}"


def of_pool(nodes: Sequence[NodeCapacity], pool: str) -> list[NodeCapacity]:
    """Return the nodes of a pool."""
    return [node for node in nodes if pool in node.pools]
