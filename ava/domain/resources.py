"""Amounts of what a cluster has: GPUs, CPU, memory."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

FIELDS = ("gpu", "cpu", "memory")
Count = Annotated[int, Field(ge=0, le=2**53)]


class Resources(NamedTuple):
    """An amount of each resource.

    Attributes:
        gpu: whole GPUs, or slots of cards in a pool that shares them.
        cpu: thousandths of a core.
        memory: bytes.
    """

    gpu: Count = 0
    cpu: Count = 0
    memory: Count = 0

    def plus(self, other: Resources) -> Resources:
        """Return the sum."""
        return Resources(self.gpu + other.gpu, self.cpu + other.cpu, self.memory + other.memory)

    def minus(self, other: Resources) -> Resources:
        """Return the difference, which may be negative."""
        return Resources(self.gpu - other.gpu, self.cpu - other.cpu, self.memory - other.memory)

    def times(self, count: int) -> Resources:
        """Return the amount for so many of them."""
        return Resources(self.gpu * count, self.cpu * count, self.memory * count)

    def lacking(self, room: Resources) -> tuple[str, ...]:
        """Return the names of what is more than ``room``, in the order of FIELDS; empty where all fits."""
        return tuple(name for name in FIELDS if getattr(self, name) > getattr(room, name))
