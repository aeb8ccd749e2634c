"""What a gang that has to wait keeps free for itself, so that smaller ones behind it cannot starve it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import Any

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, Pod
from ava.domain.placement.plan import shape, turn
from ava.domain.resources import Resources

Holds = list[tuple[str, Resources]]
_Short = tuple[bool, int, int, int, str]
_LARGEST: tuple[Callable[[Pod], Any], ...] = (
    lambda pod: (-pod.asks.gpu, -pod.asks.cpu, -pod.asks.memory),
    lambda pod: (-pod.asks.cpu, -pod.asks.memory, -pod.asks.gpu),
    lambda pod: (-pod.asks.memory, -pod.asks.gpu, -pod.asks.cpu),
)


class Reserver:
    """Amounts of nodes that are kept for waiting gangs during one pass over all that wait."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._holds: Holds = []

    def keep(self, gang: Gang) -> bool:
        """Keep for each pod the node that comes nearest to taking it once AVA's other pods there have ended.

        Nodes where workbenches or services leave enough come first, for these may never end.
        Nothing is kept, and False returned, where the nodes of the moment could not hold the gang even when empty: it
        waits for nodes, and others need not wait with it. Pods of unlike shapes that take the nearest nodes may leave none
        for the rest: then each takes the node that it fills best, the largest of each resource first.
        """
        if not gang.pods:
            return True
        one_shape = shape(gang.pods[0])
        unlike = any(shape(pod) != one_shape for pod in gang.pods)
        orders: list[Callable[[Pod], Any] | None] = [None, *(_LARGEST if unlike else ())]
        return any(self._keep(gang, largest) for largest in orders)

    def _keep(self, gang: Gang, largest: Callable[[Pod], Any] | None) -> bool:
        """Keep nodes for all pods or none; in the order ``largest`` each takes the node that it fills best, else the nearest."""
        kept: Holds = []
        ordered = sorted(gang.pods, key=turn)
        for _, alike in groupby(sorted(ordered, key=largest) if largest else ordered, key=shape):
            same = list(alike)
            names = self._nearest(same, fill=largest is not None)
            if len(names) < len(same):
                for name, amount in kept:
                    self._cluster.hold(name, Resources().minus(amount))
                return False
            for name in names:
                self._cluster.hold(name, same[0].asks)
                kept.append((name, same[0].asks))
        self._holds += kept
        return True

    def release(self) -> None:
        """Give back all that was kept."""
        for name, amount in self._holds:
            self._cluster.hold(name, Resources().minus(amount))
        self._holds.clear()

    def _nearest(self, same: list[Pod], *, fill: bool = False) -> list[str]:
        """Return a node for each of some pods of one shape, as far as there are nodes that could ever take them.

        Args:
            same: the pods.
            fill: take those of which least is left over, instead of those that lack least at the moment.
        """
        asks, slots = same[0].asks, self._cluster.slots
        taken: dict[str, int] = {}

        def short(name: str) -> _Short | None:
            slot, more = slots[name], taken.get(name, 0)
            want = asks.times(more + 1)
            if want.lacking(slot.size().minus(slot.held)) or (same[0].ports and more):
                return None
            if same[0].disk and same[0].disk > slot.disk():
                # Disks are kept over the ends of their runs: to wait for one would keep the rest of the node for ever.
                return None
            left = slot.size().minus(slot.held).minus(want)
            lack = left if fill else want.minus(slot.free)
            # What waits for the end of a workbench or a service may wait for ever: such a node only where there is no other.
            endless = bool(want.lacking(slot.size().minus(slot.held).minus(slot.endless)))
            return (endless, max(lack.gpu, 0), max(lack.cpu, 0), max(lack.memory, 0), name)

        heap = [key for name in self._cluster.may(same[0].where) if (key := short(name)) is not None]
        heapify(heap)
        found: list[str] = []
        while heap and len(found) < len(same):
            name = heappop(heap)[-1]
            found.append(name)
            taken[name] = taken.get(name, 0) + 1
            again = short(name)
            if again is not None:
                heappush(heap, again)
        return found


@contextmanager
def holding(cluster: Cluster) -> Iterator[Reserver]:
    """Hand out a holder whose amounts are given back at the end, whatever happens."""
    holder = Reserver(cluster)
    try:
        yield holder
    finally:
        holder.release()
