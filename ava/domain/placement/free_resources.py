"""What a node has free beside the pods that are on it."""

from __future__ import annotations

from collections.abc import Iterable

from ava.domain.placement.filter import Cause
from ava.domain.placement.model import Node, Pod, Port
from ava.domain.resources import Resources


def clash(port: Port, taken: Iterable[Port]) -> bool:
    """Return whether a port of the node is taken: an empty address or 0.0.0.0 takes it on all addresses."""
    everywhere = ("", "0.0.0.0")  # noqa: S104 - what a manifest says
    return any(
        port[2] == other[2]
        and port[0] == other[0]
        and (port[1] == other[1] or port[1] in everywhere or other[1] in everywhere)
        for other in taken
    )


class FreeResources:
    """A node with what its pods take.

    Attributes:
        free: what is left; negative where more is on it than it has.
        held: what pods that wait for it will take, already taken off ``free``.
        fixed: what pods that are not AVA's take.
        ending: what pods that are being removed take.
        endless: what AVA's pods take whose end is unknown.
    """

    __slots__ = ("ending", "endless", "fixed", "free", "held", "node", "on", "spare")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.free = node.room
        self.spare = node.pods
        self.held = Resources()
        self.fixed = self.endless = self.ending = Resources()
        self.on: dict[str, Pod] = {}

    def lacks(self, pod: Pod) -> Cause | None:
        """Return the first cause why the pod has no place here beside what is here."""
        if pod.ports and any(clash(port, other.ports) for other in self.on.values() for port in pod.ports):
            return Cause.PORTS
        if self.spare < 1:
            return Cause.PODS
        free, asks = self.free, pod.asks
        if asks.gpu > free.gpu:
            return Cause.GPU
        if asks.cpu > free.cpu:
            return Cause.CPU
        if asks.memory > free.memory:
            return Cause.MEMORY
        return Cause.DISK if pod.disk and pod.disk > self.disk() else None

    def disk(self) -> int:
        """Return the bytes of the node's own disk that are left beside what its pods are about to take."""
        return self.node.disk - sum(pod.disk for pod in self.on.values())

    def put(self, pod: Pod) -> None:
        """Count a pod in."""
        self.on[pod.key] = pod
        self.free = self.free.minus(pod.asks)
        self.spare -= 1
        if pod.ending:
            self.ending = self.ending.plus(pod.asks)
        if pod.fixed:
            self.fixed = self.fixed.plus(pod.asks)
        elif pod.endless:
            self.endless = self.endless.plus(pod.asks)

    def drop(self, key: str) -> None:
        """Count a pod out."""
        pod = self.on.pop(key)
        self.free = self.free.plus(pod.asks)
        self.spare += 1
        if pod.ending:
            self.ending = self.ending.minus(pod.asks)
        if pod.fixed:
            self.fixed = self.fixed.minus(pod.asks)
        elif pod.endless:
            self.endless = self.endless.minus(pod.asks)

    def size(self) -> Resources:
        """Return what AVA's pods could have on it if no other of them were here."""
        return self.node.room.minus(self.fixed)

    def resident(self) -> Resources:
        """Return the least that pods take that the node has for as long as it exists.

        While it is rolled out a DaemonSet may have two pods on a node, of which one stays.
        """
        least: dict[str, Resources] = {}
        for pod in self.on.values():
            if pod.resident and not pod.ending:
                seen = least.get(pod.resident, pod.asks)
                least[pod.resident] = Resources(*(min(a, b) for a, b in zip(seen, pod.asks, strict=True)))
        total = Resources()
        for asks in least.values():
            total = total.plus(asks)
        return total
