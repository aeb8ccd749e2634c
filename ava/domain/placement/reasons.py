"""Why a gang has no place, per cause with the number of nodes, and what a person can do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from ava.domain.amounts import number
from ava.domain.phrases import Phrase, sentences
from ava.domain.placement.cluster import Cluster
from ava.domain.placement.filter import Cause, obstacle
from ava.domain.placement.free_resources import FreeResources
from ava.domain.placement.model import Gang, Pod
from ava.domain.placement.plan import copies, shape, turn
from ava.domain.problems import Problem

_MOST = 5
Found = tuple[str, str, str]
"""What is wrong with so many nodes, what was found, what was wanted."""


def some(names: Iterable[str]) -> str:
    """Return the first of some names and how many more there are."""
    every = sorted(set(names))
    more = len(every) - _MOST
    names = ", ".join(every[:_MOST])
    return Phrase("{names} and {count} more", names=names, count=more) if more > 0 else names


def nodes(count: int) -> str:
    """Return a number of nodes in words."""
    return f"{count} node" if count == 1 else f"{count} nodes"


REMEDIES: Mapping[Cause, Phrase] = {
    Cause.NODE: Phrase("Leave out the node, or name another one."),
    Cause.MODEL: Phrase("Leave out the GPU model, or choose one of those found."),
    Cause.SELECTOR: Phrase("Ask the administrator for nodes with these labels."),
    Cause.TAINT: Phrase(
        "The administrator keeps these nodes apart by taints; choose another pool or wait until they are removed."
    ),
    Cause.CORDONED: Phrase(
        "The administrator has taken these nodes out of use for now: wait, or name another node."
    ),
    Cause.CONDITION: Phrase("Administrators are notified of nodes in trouble; wait, or name another node."),
    Cause.PORTS: Phrase("Use another host port."),
    Cause.PODS: Phrase("Wait until pods end."),
    Cause.GPU: Phrase("Wait until GPUs are given back, ask for fewer per pod, or stop a run of yours."),
    Cause.CPU: Phrase("Wait, ask for less CPU per pod, or stop a run of yours."),
    Cause.MEMORY: Phrase("Wait, ask for less memory per pod, or stop a run of yours."),
    Cause.DISK: Phrase(
        "Delete a workbench of yours that has a disk, or ask for a smaller one; the administrator can give nodes more."
    ),
}
_NODE, _NODES = Phrase("{count} node: {text}."), Phrase("{count} nodes: {text}.")
DISK_REMEDY = Phrase(
    "Wait until that node is back in the pool. If it is gone for good the disk is too: delete the workbench and make it again; "
    "what is in the home and in groups' folders is there."
)


_FREE = {
    "gpu": Phrase("GPU {best} free at most, {want} wanted"),
    "cpu": Phrase("CPU {best} free at most, {want} wanted"),
    "memory": Phrase("memory {best} free at most, {want} wanted"),
    "disk": Phrase("disk {best} free at most, {want} wanted"),
}


def _of_resource(name: str, pod: Pod, slots: list[FreeResources]) -> Found:
    want = number(name, getattr(pod.asks, name))
    free = max(0, *(getattr(s.free, name) for s in slots), 0)
    best = number(name, free)
    text = Phrase(_FREE[name], best=best, want=want)
    if any(any(s.held) for s in slots):
        text = Phrase("{text} (what is kept for runs before this one is not free)", text=text)
    soon = max(0, *(getattr(s.free.plus(s.ending), name) for s in slots), 0) - free
    if soon > 0:
        more = number(name, soon)
        text = Phrase("{text} ({more} more when pods that are stopping have ended)", text=text, more=more)
    return (text, Phrase("{best} free at most", best=best), want)


def _of_disk(pod: Pod, slots: list[FreeResources]) -> Found:
    want, best = number("disk", pod.disk), number("disk", max(0, *(s.disk() for s in slots), 0))
    return (Phrase(_FREE["disk"], best=best, want=want), Phrase("{best} free at most", best=best), want)


_TEXTS: Mapping[Cause, Callable[[Pod, list[FreeResources]], Found]] = {
    Cause.NODE: lambda p, s: (
        Phrase("not the node {node}, where the workbench's disk is", node=str(p.where.node))
        if p.where.disk
        else Phrase("not the node {node}", node=str(p.where.node)),
        some(x.node.name for x in s),
        str(p.where.node),
    ),
    Cause.MODEL: lambda p, s: (
        Phrase("not the GPU model {model}", model=str(p.where.model)),
        some(x.node.model or "unknown" for x in s),
        str(p.where.model),
    ),
    Cause.SELECTOR: lambda p, s: (
        Phrase("without the labels wanted"),
        some(x.node.name for x in s),
        ", ".join(f"{k}={v}" for k, v in p.where.selector) or Phrase("the affinity's labels"),
    ),
    Cause.TAINT: lambda p, s: (
        Phrase("with a taint that is not tolerated"),
        some(t.key for x in s for t in x.node.taints),
        Phrase("no such taint"),
    ),
    Cause.CORDONED: lambda p, s: (Phrase("taken out of use"), some(x.node.name for x in s), "schedulable"),
    Cause.CONDITION: lambda p, s: (
        Phrase("in trouble"),
        some(t for x in s for t in x.node.troubles),
        "Ready",
    ),
    Cause.PORTS: lambda p, s: (
        Phrase("where the port is taken"),
        Phrase("taken"),
        ", ".join(f"{port} ({proto})" for proto, _, port in sorted(p.ports)),
    ),
    Cause.PODS: lambda p, s: (
        Phrase("with as many pods as they take"),
        Phrase("no place left"),
        Phrase("a place"),
    ),
    Cause.GPU: lambda p, s: _of_resource("gpu", p, s),
    Cause.CPU: lambda p, s: _of_resource("cpu", p, s),
    Cause.MEMORY: lambda p, s: _of_resource("memory", p, s),
    Cause.DISK: lambda p, s: _of_disk(p, s),
}


def explain(cluster: Cluster, gang: Gang) -> list[Problem]:
    """Return why the gang is not placed: one problem per kind of pod and cause, those of most nodes first.

    To be asked while nothing of the gang is counted. Empty where nothing speaks against it.
    """
    have = len(gang.pods) + gang.placed
    if not gang.placed and have < gang.size:
        return [
            Problem(
                "pods-missing",
                Phrase(
                    "{made} of {count} pods have been made; they are placed together.",
                    made=have,
                    count=gang.size,
                ),
                Phrase("run {id}", id=gang.key),
                str(have),
                str(gang.size),
                Phrase(
                    "Nothing: the others are being made. The administrator looks at the operator when this stays."
                ),
            )
        ]
    problems: list[Problem] = []
    fitting: list[str] = []
    for _, alike in groupby(sorted(gang.pods, key=turn), key=shape):
        same = list(alike)
        found, places = _one_shape(cluster, same[0])
        fitting.append(f"{min(places, len(same))} of {len(same)} {same[0].role}")
        if places < len(same):
            problems += found
    if len(gang.pods) > 1:
        problems.append(
            Problem(
                "gang",
                Phrase(
                    "All {count} pods start together; room is there for {room}, each kind by itself.",
                    count=len(gang.pods),
                    room=", ".join(fitting),
                ),
                Phrase("run {id}", id=gang.key),
                ", ".join(fitting),
                Phrase("{count} at once", count=len(gang.pods)),
                Phrase("Wait, or ask for fewer or smaller pods."),
            )
        )
    return problems


def _one_shape(cluster: Cluster, pod: Pod) -> tuple[list[Problem], int]:
    """Return what speaks against a pod on the nodes of its pool, and how many of its kind fit now."""
    pool = cluster.pools.get(pod.where.pool)
    where = Phrase("pool {name}", name=f"{pod.where.pool}, {pod.role}")
    if pool is None:
        known = ", ".join(sorted(cluster.pools)) or Phrase("none")
        return [
            Problem(
                "pool-unknown",
                Phrase("There is no pool {pool}.", pool=pod.where.pool),
                where,
                known,
                pod.where.pool,
                Phrase("Choose a queue of another pool, or ask the administrator."),
            )
        ], 0
    by: dict[Cause, list[FreeResources]] = {}
    places = inside = 0
    may = cluster.may(pod.where)
    for slot in cluster.slots.values():
        cause = None if slot.node.name in may else obstacle(pod.where, slot.node, cluster.pools)
        if cause is Cause.POOL:
            continue
        inside += 1
        cause = cause or slot.lacks(pod)
        if cause is None:
            places += copies(slot, pod, slot.free, slot.spare)
        else:
            by.setdefault(cause, []).append(slot)
    if not inside:
        empty = Problem(
            "pool-empty",
            Phrase("The pool has no node at the moment."),
            where,
            Phrase("0 nodes"),
            Phrase("nodes of the pool"),
            Phrase("Ask the administrator for nodes of this pool."),
        )
        return [empty], 0
    if Cause.NODE in by and len(by) > 1:
        # A node was named and is there: what it lacks is the reason, not that others are others.
        del by[Cause.NODE]
    problems = []
    for cause, slots in sorted(by.items(), key=lambda item: -len(item[1])):
        text, found, wanted = _TEXTS[cause](pod, slots)
        what: str = Phrase(_NODE if len(slots) == 1 else _NODES, count=len(slots), text=text)
        if pod.where.disk and cause is not Cause.NODE:
            disk = Phrase(
                "The workbench's disk is on {node}, so that it can run nowhere else.",
                node=str(pod.where.node),
            )
            what = sentences(what, disk)
        lost = cause is Cause.NODE and pod.where.disk
        remedy = DISK_REMEDY if lost else REMEDIES[cause]
        problems.append(
            Problem("disk-node-gone" if lost else f"nodes-{cause}", what, where, found, wanted, remedy)
        )
    return problems, places
