"""A place for every pod of a gang, or for none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from ava.domain.placement.cluster import Cluster
from ava.domain.placement.free_resources import FreeResources
from ava.domain.placement.model import Gang, Pod
from ava.domain.resources import Resources

STEPS = 1000
"""Placings tried where the first of each does not lead to the end: a few milliseconds at most."""
WORK = 40_000
"""Placings tried times pods, so that a gang of thousands, which costs more at each try, is tried less often."""
Shape = tuple[object, ...]


def turn(pod: Pod) -> tuple[int, int, int, str, str, int]:
    """Return the key of a pod's turn within its gang: the largest first, equal ones beside each other."""
    return (-pod.asks.gpu, -pod.asks.cpu, -pod.asks.memory, repr(pod.where), pod.role, pod.index)


def shape(pod: Pod) -> Shape:
    """Return what makes pods interchangeable for placing."""
    return (pod.asks, pod.where, pod.ports, pod.disk)


def copies(slot: FreeResources, pod: Pod, free: Resources, spare: int) -> int:
    """Return how many pods of one shape a node takes with so much free on it."""
    most = min(spare, *(have // want for have, want in zip(free, pod.asks, strict=True) if want > 0))
    if pod.ports:
        most = min(most, 1)
    if pod.disk:
        most = min(most, slot.disk() // pod.disk)
    return max(most, 0)


def room_for(cluster: Cluster, pods: Iterable[Pod]) -> bool:
    """Return whether each shape by itself would fit; False is proof that the whole does not."""
    for _, alike in groupby(pods, key=shape):
        same = list(alike)
        left = len(same)
        for name in cluster.may(same[0].where):
            slot = cluster.slots[name]
            left -= copies(slot, same[0], slot.free, slot.spare) if slot.lacks(same[0]) is None else 0
            if left <= 0:
                break
        if left > 0:
            return False
    return True


def place(cluster: Cluster, gang: Gang, *, steps: int = STEPS) -> list[Pod] | None:
    """Return the gang's pods with their nodes, counted in the cluster; None, and nothing counted, where not all fit.

    Pods come by size, each onto its best fit; where that leads to no end the next best is tried, for at most ``steps``
    placings beyond the first way. So pods of one shape are placed whenever they can be, and a mixed gang unless the search is cut
    off, which it is not for what a few nodes hold.
    """
    pods = sorted(gang.pods, key=turn)
    if len(pods) > 1 and not room_for(cluster, pods):
        return None
    done: list[Pod] = []
    ways: list[Iterator[str]] = []
    dead: set[tuple[int, frozenset[tuple[object, ...]]]] = set()
    left = min(steps, WORK // max(1, len(pods)))
    while len(done) < len(pods):
        at = len(done)
        if len(ways) == at:
            ways.append(iter(()) if _known_dead(dead, at, done) else cluster.fitting(pods[at]))
        name = next(ways[at], None) if left > 0 else None
        if name is None:
            ways.pop()
            if not done or left <= 0:
                for pod in done:
                    cluster.drop(pod.key)
                return None
            left -= 1
            dead.add((at, _seen(done)))
            cluster.drop(done.pop().key)
            continue
        left -= bool(dead)
        placed = replace(pods[at], node=name)
        cluster.put(placed)
        done.append(placed)
    return done


def _seen(done: Iterable[Pod]) -> frozenset[tuple[object, ...]]:
    counts: dict[tuple[object, ...], int] = {}
    for pod in done:
        key = (pod.node, *shape(pod))
        counts[key] = counts.get(key, 0) + 1
    return frozenset((*key, count) for key, count in counts.items())


def _known_dead(dead: set[tuple[int, frozenset[tuple[object, ...]]]], at: int, done: list[Pod]) -> bool:
    return bool(dead) and (at, _seen(done)) in dead
