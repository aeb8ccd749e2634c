"""Whether a pod may go to a node at all, whatever else is there: pool, labels, taints, conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from ava.domain.labels import GPU
from ava.domain.model import Pool
from ava.domain.placement.model import Node, PlacementConstraints, Requirement, Taint

KEEPS_AWAY = ("NoSchedule", "NoExecute")
"""Effects of taints that hold for what is placed from now on."""


class Cause(StrEnum):
    """Why a node does not take a pod, in the order in which they are looked at."""

    POOL = "pool"
    NODE = "node"
    MODEL = "model"
    SELECTOR = "selector"
    TAINT = "taint"
    CORDONED = "cordoned"
    CONDITION = "condition"
    PORTS = "ports"
    PODS = "pods"
    GPU = "gpu"
    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"


def _number(text: str | None, value: str, wanted: Callable[[int, int], bool]) -> bool:
    try:
        return text is not None and wanted(int(text), int(value))
    except ValueError:
        return False


def holds(need: Requirement, labels: Mapping[str, str]) -> bool:
    """Return whether a node's labels meet one requirement; one of an unknown operator never holds."""
    have = labels.get(need.key)
    match need.operator:
        case "In":
            return have in need.values
        case "NotIn":
            return have not in need.values
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case "Gt" if need.values:
            return _number(have, need.values[0], lambda a, b: a > b)
        case "Lt" if need.values:
            return _number(have, need.values[0], lambda a, b: a < b)
    return False


def carries(selector: Iterable[tuple[str, str]], node: Node) -> bool:
    """Return whether a node has all labels of a selector."""
    return all(node.labels.get(key) == value for key, value in selector)


def for_gpus(node: Node, pools: Iterable[Pool]) -> bool:
    """Return whether a node is for GPU runs alone.

    It also is when its device plug-in is away and it shows no GPU at the moment: seen by the taint, or by a GPU pool
    that names it by labels.
    """
    return (
        node.room.gpu > 0
        or any(taint.key == GPU for taint in node.taints)
        or any(pool.gpu and pool.selector and carries(pool.selector.items(), node) for pool in pools)
    )


def in_pool(pool: Pool, node: Node, pools: Iterable[Pool]) -> bool:
    """Return whether a node belongs to a pool: by its labels, and GPU nodes to GPU pools alone (A-SC1).

    Cards that are shared are in pools that share them as finely, so no one who wants a whole one gets a slot of one (I13).
    """
    if pool.gpu != for_gpus(node, pools) or (pool.gpu and pool.gpu_slots != node.slots):
        return False
    return carries(pool.selector.items(), node)


def tolerates(where: PlacementConstraints, taint: Taint, pool: Pool) -> bool:
    """Return whether a taint does not keep a pod away. A GPU pool's pods tolerate that of GPU nodes."""
    if taint.effect not in KEEPS_AWAY:
        return True
    return (pool.gpu and taint.key == GPU) or any(t.covers(taint) for t in where.tolerations)


def obstacle(where: PlacementConstraints, node: Node, pools: Mapping[str, Pool]) -> Cause | None:
    """Return the first cause why pods with these wishes may not go to a node, None where they may."""
    pool = pools.get(where.pool)
    if pool is None or not in_pool(pool, node, pools.values()):
        return Cause.POOL
    if where.node is not None and where.node != node.name:
        return Cause.NODE
    if where.model is not None and where.model != node.model:
        return Cause.MODEL
    if not carries(where.selector, node) or (
        where.affinity
        and not any(all(holds(r, node.labels) for r in term) for term in where.affinity if term)
    ):
        return Cause.SELECTOR
    if not all(tolerates(where, taint, pool) for taint in node.taints):
        return Cause.TAINT
    if node.cordoned:
        return Cause.CORDONED
    return Cause.CONDITION if node.troubles else None
