"""A cluster's nodes and what is on them, kept up to date pod by pod, so that a decision looks at few of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ava.domain.model import Pool
from ava.domain.placement.filter import obstacle
from ava.domain.placement.free_resources import FreeResources
from ava.domain.placement.model import Node, PlacementConstraints, Pod
from ava.domain.placement.score import NodeScores
from ava.domain.resources import Resources

_WISHES = 512
_FEW = 16


class Cluster:
    """Nodes, pools, and pods on nodes.

    A pod that is bound to a node that is not known is kept aside and counted when the node comes.
    """

    def __init__(self, pools: Iterable[Pool], nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> None:
        self.pools: Mapping[str, Pool] = {pool.name: pool for pool in pools}
        self.slots: dict[str, FreeResources] = {}
        self._rank = NodeScores()
        self._may: dict[PlacementConstraints, frozenset[str]] = {}
        self._where: dict[str, Pod] = {}
        for node in nodes:
            self.set_node(node)
        for pod in pods:
            self.put(pod)

    def set_pools(self, pools: Iterable[Pool]) -> None:
        """Replace the pools."""
        new = {pool.name: pool for pool in pools}
        if new != self.pools:
            self.pools = new
            self._may.clear()

    def set_node(self, node: Node) -> None:
        """Add a node or replace what was known of it."""
        old = self.slots.get(node.name)
        if old is not None:
            if old.node == node:
                return
            self._rank.drop(node.name, old.free)
        slot = FreeResources(node)
        for pod in self._where.values() if old is None else old.on.values():
            if pod.node == node.name:
                slot.put(pod)
        if old is not None:
            slot.held, slot.free = old.held, slot.free.minus(old.held)
        self.slots[node.name] = slot
        self._rank.add(node.name, slot.free)
        before = old.node if old else None
        if (
            before is None
            or replace(before, room=node.room, pods=node.pods, disk=node.disk) != node
            or bool(before.room.gpu) != bool(node.room.gpu)
        ):
            self._may.clear()

    def drop_node(self, name: str) -> None:
        """Forget a node; pods that were on it are still known."""
        slot = self.slots.pop(name, None)
        if slot is not None:
            self._rank.drop(name, slot.free)
            self._may.clear()

    def put(self, pod: Pod) -> None:
        """Count a pod on the node that it names; one that is counted already moves."""
        self.drop(pod.key)
        self._where[pod.key] = pod
        slot = self.slots.get(pod.node)
        if slot is not None:
            self._rank.drop(pod.node, slot.free)
            slot.put(pod)
            self._rank.add(pod.node, slot.free)

    def drop(self, key: str) -> None:
        """Count a pod out; one that is not known changes nothing."""
        pod = self._where.pop(key, None)
        slot = self.slots.get(pod.node) if pod else None
        if pod and slot is not None and key in slot.on:
            self._rank.drop(pod.node, slot.free)
            slot.drop(key)
            self._rank.add(pod.node, slot.free)

    def hold(self, name: str, amount: Resources) -> None:
        """Keep an amount of a node for pods that wait (a negative one gives it back)."""
        slot = self.slots[name]
        self._rank.drop(name, slot.free)
        slot.held = slot.held.plus(amount)
        slot.free = slot.free.minus(amount)
        self._rank.add(name, slot.free)

    def pod(self, key: str) -> Pod | None:
        """Return a pod that is counted."""
        return self._where.get(key)

    def pods(self) -> Iterable[Pod]:
        """Return all pods that are counted."""
        return self._where.values()

    def may(self, where: PlacementConstraints) -> frozenset[str]:
        """Return the nodes that pods with these wishes may go to, whatever is on them."""
        found = self._may.get(where)
        if found is None:
            if len(self._may) >= _WISHES:
                self._may.clear()
            found = frozenset(n for n, s in self.slots.items() if obstacle(where, s.node, self.pools) is None)
            self._may[where] = found
        return found

    def fitting(self, pod: Pod) -> Iterator[str]:
        """Return the nodes that take a pod now, best fit first: free GPUs after it, free CPU, free memory, name."""
        may = self.may(pod.where)
        if len(may) <= _FEW:
            slots = self.slots
            yield from sorted(
                (n for n in may if slots[n].lacks(pod) is None), key=lambda n: (*slots[n].free, n)
            )
            return
        for name in self._rank.holding(pod.asks):
            if name in may and self.slots[name].lacks(pod) is None:
                yield name
