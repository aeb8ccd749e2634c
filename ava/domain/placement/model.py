"""What a decision is made from: nodes, pods, and the gangs that pods are placed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ava.domain.resources import Resources

Port = tuple[str, str, int]
"""Protocol, address (empty: all) and number of a port of the node itself."""


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods away from a node that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a pod puts up with; an empty ``effect`` is every effect, an empty ``key`` with Exists every taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def covers(self, taint: Taint) -> bool:
        """Return whether the taint does not keep the pod away."""
        if self.effect and self.effect != taint.effect:
            return False
        if not self.key:
            return self.operator == "Exists"
        return self.key == taint.key and (self.operator == "Exists" or self.value == taint.value)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a node's label, as in a node affinity: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementConstraints:
    """What a pod says about its node beside the amounts; pods with equal ones may go to the same nodes.

    Attributes:
        pool: name of the pool.
        node: the node that the user named, or where the pod's disk is.
        disk: whether the node is named for the disk.
        model: the GPU model that the user named.
        selector: labels that the node has, sorted.
        affinity: terms of which one has to hold; all requirements of a term together.
    """

    pool: str
    node: str | None = None
    model: str | None = None
    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    disk: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the scheduler sees it.

    Attributes:
        room: what pods may have on it together (allocatable).
        pods: how many pods it takes.
        model: of its GPUs, empty where unknown.
        slots: how many pods may share each of its cards; 1: they are whole.
        troubles: conditions that keep pods away: ``NotReady``, ``DiskPressure`` …
        cordoned: marked unschedulable.
        disk: bytes that it has left of its own disk for pods' disks.
    """

    name: str
    room: Resources
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    taints: tuple[Taint, ...] = ()
    model: str = ""
    slots: int = 1
    troubles: tuple[str, ...] = ()
    cordoned: bool = False
    disk: int = 0


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, bound or not.

    Attributes:
        key: ``namespace/name``.
        uid: tells a pod from a later one of the same name.
        gang: the run and attempt that it belongs to, as a key; empty for pods of others.
        size: how many pods its gang has.
        created: when its run was made, ISO 8601 in UTC; with ``priority`` it orders the waiting.
        node: where it is bound.
        fixed: not AVA's: its end is unknown, so nothing waits for its room.
        resident: what keeps it on its node for as long as the node exists: its DaemonSet's uid, or the key of a static pod;
            empty: it may move to another node, or end.
        disk: bytes of its node's own disk that it takes and that the node does not count yet.
        endless: a workbench's or a service's: its end is unknown.
        ending: it is being removed; what it has comes free soon.
        replaces: it comes in place of one of its run that has ended, so its run has begun.
    """

    key: str
    uid: str
    asks: Resources
    where: PlacementConstraints
    role: str = "worker"
    index: int = 0
    gang: str = ""
    size: int = 1
    priority: int = 0
    created: str = ""
    ports: frozenset[Port] = frozenset()
    node: str = ""
    fixed: bool = False
    resident: str = ""
    disk: int = 0
    endless: bool = False
    ending: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that are placed together or not at all.

    Attributes:
        pods: those that have no node yet.
        placed: how many have one, or had; then the others are completed before all else, without waiting for ``size``.
        size: how many there must be before the first is placed.
    """

    key: str
    pods: tuple[Pod, ...]
    size: int = 1
    placed: int = 0
    priority: int = 0
    created: str = ""

    def order(self) -> tuple[bool, int, str, str]:
        """Return the key of its turn: begun ones, then by priority, age and name."""
        return (not self.placed, -self.priority, self.created, self.key)
