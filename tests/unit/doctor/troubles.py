"""Troubles: what is changed in a healthy snapshot, and which check must say what of which place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TWINS = {"mast1": "mast2", "stor1": "stor2"}
TWO_TELL = ("kubernetes", "ceph", "calico_pool", "admission")


@dataclass(frozen=True)
class Case:
    """One trouble.

    Attributes:
        check: the check that must find it.
        where: what its place must hold.
        says: what its evidence must hold.
        change: changes the data of a healthy snapshot.
        status: what it must say.
    """

    check: str
    where: str
    says: str
    change: Callable[[dict[str, Any]], Any]
    status: str = "bad"

    @property
    def name(self):
        return f"{self.check}: {self.says[:40]}"


bad = Case


def warn(*row):
    return Case(*row, "warn")


def parts(data, node):
    return data["nodes"][node]["parts"]


def put(path, value=None, **members):
    """Return a change: at a path (a node, its part, members of it) a value, or some members of what is there.

    Both witnesses tell it where two are asked.
    """
    node, part, *keys = path.split()

    def change(data):
        for name in (node, TWINS[node]) if part in TWO_TELL else (node,):
            *above, last = [part, *keys]
            here = parts(data, name)
            for key in above:
                here = here[key]
            here[last] = here[last] | members if members else value

    return change


def lose(path):
    """Return a change: what is at the path's end is not reported; by the first witness alone where two are asked."""
    node, *keys, last = path.split()

    def change(data):
        here = parts(data, node)
        for key in keys:
            here = here[key]
        del here[last]

    return change


def each(nodes, part, value=None, **members):
    """Return a change of several nodes: of a part, or of some of its members."""

    def change(data):
        for node in nodes:
            put(f"{node} {part}", value, **members)(data)

    return change
