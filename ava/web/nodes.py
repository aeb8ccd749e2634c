"""What is free, put together for people: by GPU model, and nodes in the order in which somebody would choose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ava.schemas.runs import NodeOut


@dataclass(slots=True)
class Model:
    """All nodes of one GPU model ("" for those without GPUs).

    Attributes:
        largest: the most GPUs that are free on one node, so that one pod can have them.
    """

    name: str
    nodes: int = 0
    open: int = 0
    gpus: int = 0
    free: int = 0
    largest: int = 0
    cpu: int = 0
    free_cpu: int = 0
    memory: int = 0
    free_memory: int = 0


def by_model(nodes: Sequence[NodeOut]) -> list[Model]:
    """Return what there is and what is free, by GPU model; nodes that take nothing count as full."""
    found: dict[str, Model] = defaultdict(lambda: Model(""))
    for node in nodes:
        model = found[node.gpu_model if node.capacity.gpu else ""]
        model.name = node.gpu_model if node.capacity.gpu else ""
        model.nodes += 1
        model.gpus += node.capacity.gpu
        model.cpu += node.capacity.cpu
        model.memory += node.capacity.memory
        if node.open:
            model.open += 1
            model.free += node.free.gpu
            model.largest = max(model.largest, node.free.gpu)
            model.free_cpu += node.free.cpu
            model.free_memory += node.free.memory
    return sorted(found.values(), key=lambda m: (not m.gpus, m.name))


def has_room(node: NodeOut) -> bool:
    """Return whether a training of one GPU, or without GPUs of one core, can start on a node now."""
    if not node.open:
        return False
    return node.free.gpu > 0 if node.capacity.gpu else node.free.cpu >= 1000


def sorted_nodes(nodes: Sequence[NodeOut]) -> list[NodeOut]:
    """Return nodes: those that take something first, the most free GPUs first."""
    return sorted(
        nodes, key=lambda n: (not n.open, not n.capacity.gpu, -n.free.gpu, -n.free.cpu, n.cluster, n.name)
    )
