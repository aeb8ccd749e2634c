"""Nodes in the order of best fit, kept up to date as pods come and go."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from ava.domain.resources import Resources

Key = tuple[int, int, int, str]
"""Free GPUs, free CPU, free memory, name: the smallest is the best fit.

What is free before a pod comes and what is free after it differ by the same amounts on every node, so both give one order.
"""


class NodeScores:
    """Names of nodes by what is free on them: a row per number of free GPUs, each row sorted."""

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[int, int, str]]] = {}

    def add(self, name: str, free: Resources) -> None:
        """Put a node in with what is free on it."""
        insort(self._rows.setdefault(free.gpu, []), (free.cpu, free.memory, name))

    def drop(self, name: str, free: Resources) -> None:
        """Take out a node that was put in with exactly that."""
        row = self._rows[free.gpu]
        at = bisect_left(row, (free.cpu, free.memory, name))
        if row[at] != (free.cpu, free.memory, name):  # pragma: no cover - would be a fault of the caller
            raise KeyError(name)
        del row[at]
        if not row:
            del self._rows[free.gpu]

    def holding(self, asks: Resources) -> Iterator[str]:
        """Return nodes where the amounts fit, best fit first."""
        for gpu in sorted(g for g in self._rows if g >= asks.gpu):
            row = self._rows[gpu]
            for cpu, memory, name in row[bisect_left(row, (asks.cpu,)) :]:
                if memory >= asks.memory and cpu >= asks.cpu:
                    yield name
