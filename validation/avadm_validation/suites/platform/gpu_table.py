"""The table of nodes and pods with GPUs that `cards.py` asks for, read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Node:
    """A node with GPUs.

    Attributes:
        size: GPUs that pods may have.
        used: GPUs that pods have, by the run that they are of ("" for none of the platform's).
        open: whether it takes pods.
        model: of its GPUs.
    """

    size: int
    used: dict[str, int] = field(default_factory=dict)
    open: bool = True
    model: str = ""

    @property
    def free(self) -> int:
        """Free GPUs."""
        return self.size - sum(self.used.values())


Table = dict[str, Node]


def table(text: str) -> Table:
    """Return the nodes with GPUs by name; ValueError where the text is not that table."""
    nodes, split, pods = text.partition("\n--\n")
    if not split:
        raise ValueError("no table of nodes and pods")
    found: Table = {}
    for row in filter(None, map(str.split, nodes.split("\n"))):
        name, gpus, off, model, ready = row
        if _number(gpus):
            takes = off != "true" and ready == "True"
            found[name] = Node(_number(gpus), open=takes, model="" if model == "<none>" else model)
    for row in filter(None, map(str.split, pods.split("\n"))):
        name, phase, gpus, run = row
        asked = sum(map(_number, gpus.split(",")))
        if asked and name in found and phase not in ("Succeeded", "Failed"):
            used = found[name].used
            key = "" if run == "<none>" else run
            used[key] = used.get(key, 0) + asked
    return found


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
