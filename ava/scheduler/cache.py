"""The cluster as it is, and as it will be once the binds that are under way have arrived."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

from ava.domain import labels
from ava.domain.model import Pool
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.model import Gang, Pod
from ava.domain.placement.pools import pool_for, usable
from ava.domain.resources import Resources
from ava.scheduler import cluster_reader
from ava.scheduler.cluster_reader import Object

Turn = tuple[bool, int, str, str]


class Cache:
    """Nodes, pods on nodes, pods that wait, and pods that are assumed to be where they are being bound.

    Fed by the mirrors' changes; ``wake`` is called when something may be placed that could not be before.

    Attributes:
        cluster: what placement counts in; an assumed pod is counted until it is bound for sure or is not.
        largest: the most that each node has shown of itself.
    """

    def __init__(self, pools: Iterable[Pool], wake: Callable[[], None] = lambda: None) -> None:
        self._pools = usable(pools)
        self._usual = _usual(self._pools)
        self.cluster = Cluster(self._pools)
        self.largest: dict[str, Resources] = {}
        self._wake = wake
        self._waiting: dict[str, Pod] = {}
        self._members: dict[str, dict[str, Pod]] = {}
        self._gangs: dict[str, Gang] = {}
        self._turns: list[Turn] = []
        self._begun: dict[str, set[str]] = {}
        self._assumed: dict[str, Pod] = {}

    def set_pools(self, pools: Iterable[Pool]) -> None:
        """Replace the pools of the database."""
        new = usable(pools)
        if new != self._pools:
            self._pools, self._usual = new, _usual(new)
            self.cluster.set_pools(new)
            self._wake()

    def on_node(self, old: Object | None, new: Object | None) -> None:
        """Take a change of a node."""
        if new is None:
            if old is not None:
                self.cluster.drop_node(old["metadata"]["name"])
                self.largest.pop(old["metadata"]["name"], None)
            return
        node = cluster_reader.node(new)
        before = self.cluster.slots.get(node.name)
        if before is not None and before.node == node:
            return
        most = self.largest.get(node.name, Resources())
        self.largest[node.name] = Resources(*(max(a, b) for a, b in zip(most, node.room, strict=True)))
        self.cluster.set_node(node)
        self._wake()

    def on_pod(self, old: Object | None, new: Object | None) -> None:
        """Take a change of a pod."""
        if new is None:
            if old is not None:
                self._gone(old)
            return
        pod = cluster_reader.pod(new, self._default)
        if pod.node:
            self._on_node(pod, new)
        elif new["spec"].get("schedulerName") == "ava" and labels.ours(new):
            if (
                new["metadata"].get("deletionTimestamp")
                or (new.get("status") or {}).get("phase") in cluster_reader.DONE
            ):
                self._forget_waiting(pod.key)
            elif pod.key not in self._assumed:
                self._wait(pod)
        elif pod.fixed and self.cluster.pod(pod.key) is not None:
            # The node for which kube-scheduler had nominated it is no longer it.
            self.cluster.drop(pod.key)
            self._wake()

    def _on_node(self, pod: Pod, thing: Object) -> None:
        self._forget_waiting(pod.key)
        self._assumed.pop(pod.key, None)
        self._begin(pod)
        if (thing.get("status") or {}).get("phase") in cluster_reader.DONE:
            if self.cluster.pod(pod.key) is not None:
                self.cluster.drop(pod.key)
                self._wake()
        elif self.cluster.pod(pod.key) != pod:
            self.cluster.put(pod)
            if pod.ending:
                # Those that wait say so.
                self._wake()

    def _gone(self, thing: Object) -> None:
        meta = thing["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        self._forget_waiting(key)
        self._assumed.pop(key, None)
        pod = cluster_reader.pod(thing, self._default)
        self._end(pod)
        if self.cluster.pod(key) is not None:
            self.cluster.drop(key)
        self._wake()

    def _wait(self, pod: Pod) -> None:
        if self._waiting.get(pod.key) == pod:
            return
        self._forget_waiting(pod.key)
        self._waiting[pod.key] = pod
        self._members.setdefault(pod.gang, {})[pod.key] = pod
        self._sort(pod.gang)
        self._wake()

    def _forget_waiting(self, key: str) -> None:
        pod = self._waiting.pop(key, None)
        if pod is not None:
            members = self._members[pod.gang]
            del members[key]
            if not members:
                del self._members[pod.gang]
            self._sort(pod.gang)

    def _begin(self, pod: Pod) -> None:
        """Note that a pod of a gang has a node, or is being bound to one."""
        if pod.size > 1 and pod.key not in self._begun.setdefault(pod.gang, set()):
            self._begun[pod.gang].add(pod.key)
            self._sort(pod.gang)

    def _end(self, pod: Pod) -> None:
        """Note that it has none any more."""
        members = self._begun.get(pod.gang)
        if members is not None and pod.key in members:
            members.discard(pod.key)
            if not members:
                del self._begun[pod.gang]
            self._sort(pod.gang)

    def _sort(self, key: str) -> None:
        """Put a gang that has changed in its place among all that wait."""
        old = self._gangs.pop(key, None)
        if old is not None:
            del self._turns[bisect_left(self._turns, old.order())]
        pods = tuple(self._members.get(key, {}).values())
        if pods:
            self._gangs[key] = Gang(
                key,
                pods,
                max(pod.size for pod in pods),
                len(self._begun.get(key, ())) or sum(pod.replaces for pod in pods),
                max(pod.priority for pod in pods),
                min(pod.created for pod in pods),
            )
            insort(self._turns, self._gangs[key].order())

    def _default(self, gpu: bool) -> str:
        return self._usual[gpu]

    def gangs(self) -> list[Gang]:
        """Return all that waits for nodes, in the order of their turns.

        A gang of which a pod is bound, or being bound, has begun; so has the run of a pod that replaces another.
        """
        return [self._gangs[turn[3]] for turn in self._turns]

    def assume(self, pods: Iterable[Pod]) -> None:
        """Take pods, which placement has counted already, as being bound."""
        for pod in pods:
            self._forget_waiting(pod.key)
            self._assumed[pod.key] = pod
            self._begin(pod)

    def refused(self, pod: Pod, thing: Object | None) -> None:
        """Give an assumption back: the pod was not bound there for sure. ``thing``: the pod as it is known now."""
        if self._assumed.get(pod.key) != pod:
            return  # The watch has reported more already.
        del self._assumed[pod.key]
        self.cluster.drop(pod.key)
        self._end(pod)
        if thing is not None:
            self.on_pod(None, thing)
        self._wake()

    def assumed(self) -> int:
        """Return how many pods are being bound, or were and are not seen there yet."""
        return len(self._assumed)

    def is_assumed(self, pod: Pod) -> bool:
        """Return whether this very assumption still stands."""
        return self._assumed.get(pod.key) == pod

    def overcommitted(self) -> list[str]:
        """Return nodes that have more GPUs on them than they have: the sign of two schedulers at once."""
        return [
            name
            for name, slot in self.cluster.slots.items()
            if slot.free.plus(slot.held).gpu < 0 and slot.node.room.gpu > 0
        ]


def _usual(pools: Iterable[Pool]) -> dict[bool, str]:
    """Return the pool of pods that name none, by whether they ask for GPUs."""
    known = tuple(pools)
    return {gpu: pool_for(gpu, None, known) or "" for gpu in (True, False)}
