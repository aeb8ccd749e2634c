"""Nodes and pods of Kubernetes as placement knows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from math import ceil
from typing import Any

import orjson

from ava.domain import labels
from ava.domain.placement.model import Node, PlacementConstraints, Pod, Port, Requirement, Taint, Toleration
from ava.domain.pod_status import RESTARTS
from ava.domain.resources import Resources

Object = Mapping[str, Any]
PRODUCT = "nvidia.com/gpu.product"
"""Label of NVIDIA's feature discovery; AVA's own label comes before it."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of the object that shows a kubelet's static pod."""
NOMINATED = "scheduler.kubernetes.io/nominated-node-name"
"""Annotation of Kubernetes 1.9: the node that kube-scheduler has chosen for a pod that waits for room on it."""
SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")
"""Priority classes that admission allows in the namespaces of the system alone."""
DONE = ("Succeeded", "Failed")
KIND = f"{labels.PREFIX}/kind"
ENDLESS = ("workbench", "service")
"""Kinds of runs whose end is unknown."""
USUAL, STEP = 50, 1000
"""The priority of queues for which none is given, for pods that an earlier version has made; and that of runs is below STEP."""
_WHEN_TRUE = ("OutOfDisk", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_MOST = 2**53
_MIB = 2**20


@lru_cache(maxsize=4096)
def _cached(text: str, times: int) -> int:
    return quantity(text, times=times)


def _amount(amounts: Object, name: str, times: int = 1) -> int:
    """Return an amount, 0 where there is none; one that cannot be read is more than any node has."""
    text = amounts.get(name)
    if text is None:
        return 0
    try:
        return _cached(str(text), times)
    except ValueError:
        return _MOST


def resources(amounts: Object) -> Resources:
    """Return GPUs, CPU and memory of a list of amounts."""
    return Resources(_amount(amounts, labels.GPU), _amount(amounts, "cpu", 1000), _amount(amounts, "memory"))


def node(thing: Object) -> Node:
    """Return a node. What it does not tell counts as nothing, and a node that is not Ready takes no pods."""
    meta, spec, status = thing["metadata"], thing.get("spec") or {}, thing.get("status") or {}
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    troubles = ([] if conditions.get("Ready") == "True" else ["NotReady"]) + [
        name for name in _WHEN_TRUE if conditions.get(name) == "True"
    ]
    if meta.get("deletionTimestamp"):
        troubles.append("Deleted")
    allocatable = status.get("allocatable") or {}
    marks = meta.get("labels") or {}
    room, pods = resources(allocatable), _amount(allocatable, "pods")
    if max(*room, pods) >= _MOST:
        room, pods, troubles = Resources(), 0, [*troubles, "UnreadableAllocatable"]
    return Node(
        meta["name"],
        room,
        pods=pods,
        labels=marks,
        taints=tuple(
            Taint(t["key"], t.get("value") or "", t.get("effect") or "") for t in spec.get("taints") or ()
        ),
        model=marks.get(labels.MODEL) or marks.get(PRODUCT) or "",
        slots=max(1, _number(marks.get(labels.SLOTS), 1)),
        troubles=tuple(troubles),
        cordoned=bool(spec.get("unschedulable")),
        disk=_disk_left((meta.get("annotations") or {}).get(labels.VOLUMES)),
    )


def _disk_left(annotation: str | None) -> int:
    """Return the bytes that a node says it has left for volumes on its own disk; what cannot be read is nothing."""
    try:
        free = orjson.loads(annotation or "{}")["free"]
        return int(free) * _MIB
    except (ValueError, TypeError, KeyError):
        return 0


def asks(spec: Object) -> Resources:
    """Return what a pod asks for: the sum of its containers, or the largest of its init containers where that is more."""
    total = Resources()
    for container in spec.get("containers") or ():
        total = total.plus(_requests(container))
    for container in spec.get("initContainers") or ():
        total = Resources(*(max(a, b) for a, b in zip(total, _requests(container), strict=True)))
    return total


def _requests(container: Object) -> Resources:
    wanted = container.get("resources") or {}
    return resources({**(wanted.get("limits") or {}), **(wanted.get("requests") or {})})


def pod(thing: Object, pool: Callable[[bool], str]) -> Pod:
    """Return a pod.

    Args:
        thing: the object.
        pool: the pool of a pod that names none, by whether it asks for GPUs.
    """
    meta, spec = thing["metadata"], thing["spec"]
    marks, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    key = f"{meta['namespace']}/{meta['name']}"
    wants = asks(spec)
    mine = labels.ours(thing)
    size = max(1, _number(notes.get(labels.GANG), 1)) if mine else 1
    run = f"{meta['namespace']}/{marks.get(labels.RUN, '')}-{marks.get(labels.ATTEMPT, '0')}"
    return Pod(
        key,
        meta["uid"],
        wants,
        _where(spec, notes, notes.get(labels.POOL) or pool(wants.gpu > 0))
        if mine
        else PlacementConstraints(""),
        role=marks.get(labels.ROLE) or "worker",
        index=_number(marks.get(labels.INDEX), 0),
        gang=run if size > 1 else key,
        size=size,
        priority=_number(notes.get(labels.QUEUE_PRIORITY), USUAL) * STEP
        + _number(notes.get(labels.PRIORITY), 0),
        ending=bool(meta.get("deletionTimestamp")),
        replaces=mine and _number(notes.get(RESTARTS), 0) > 0,
        endless=mine and marks.get(KIND) in ENDLESS,
        created=notes.get(labels.CREATED) or meta.get("creationTimestamp") or "",
        ports=_ports(spec),
        node=spec.get("nodeName") or _nominated(spec, notes),
        fixed=not mine,
        resident="" if mine else _resident(meta, key),
        disk=max(0, _number(notes.get(labels.DISK), 0)) if mine and _takes_disk(thing) else 0,
    )


def _nominated(spec: Object, notes: Object) -> str:
    """Return the node on which a pod of the system waits for room that comes free, so that no run takes it; none otherwise."""
    return notes.get(NOMINATED) or "" if spec.get("priorityClassName") in SYSTEM_CLASSES else ""


def _resident(meta: Object, key: str) -> str:
    """Return what keeps a pod on its node for as long as the node exists; empty where nothing does."""
    if MIRROR in (meta.get("annotations") or {}):
        return key
    owners = meta.get("ownerReferences") or ()
    return next(
        (str(o.get("uid")) for o in owners if o.get("controller") and o.get("kind") == "DaemonSet"), ""
    )


def _takes_disk(thing: Object) -> bool:
    """Return whether a pod's disk may not be made yet: from its first start on its node has reported it."""
    return bool((thing.get("status") or {}).get("phase", "Pending") == "Pending")


def _number(text: str | None, otherwise: int) -> int:
    try:
        return int(text) if text is not None else otherwise
    except ValueError:
        return otherwise


def _where(spec: Object, notes: Object, pool: str) -> PlacementConstraints:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return PlacementConstraints(
        pool,
        node=notes.get(labels.DISK_NODE) or notes.get(labels.NODE) or None,
        model=notes.get(labels.MODEL) or None,
        selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        affinity=tuple(
            tuple(
                Requirement(r["key"], r["operator"], tuple(r.get("values") or ()))
                for r in term.get("matchExpressions") or ()
            )
            for term in required.get("nodeSelectorTerms") or ()
        ),
        tolerations=tuple(
            Toleration(
                t.get("key") or "", t.get("operator") or "Equal", t.get("value") or "", t.get("effect") or ""
            )
            for t in spec.get("tolerations") or ()
        ),
        disk=bool(notes.get(labels.DISK_NODE)),
    )


def _ports(spec: Object) -> frozenset[Port]:
    return frozenset(
        (port.get("protocol") or "TCP", port.get("hostIP") or "", port["hostPort"])
        for container in spec.get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?", re.ASCII)
_SUFFIX = {
    **{f"{letter}i": Decimal(1024) ** n for n, letter in enumerate("KMGTPE", 1)},
    **{letter: Decimal(1000) ** n for n, letter in enumerate("kMGTPE", 1)},
    **{letter: Decimal(1000) ** -n for n, letter in enumerate("mun", 1)},
}


def quantity(text: str | int | float, *, times: int = 1) -> int:
    """Return an amount times ``times`` (1000 for thousandths), rounded up as Kubernetes does.

    Raises ValueError for what is no amount.
    """
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{str(text)[:50]!r} is no amount")
    number, exponent, suffix = match.groups()
    value = Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _SUFFIX.get(suffix, Decimal(1)))
    return ceil(value * times)
