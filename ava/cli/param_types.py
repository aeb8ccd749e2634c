"""Types of options whose amounts are written for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ava.cli import specfile

if TYPE_CHECKING:
    _Number = click.ParamType[int]
else:  # no generic type in the last click for Python 3.9
    _Number = click.ParamType


class AmountType(_Number):
    """A text that ``read`` makes a number of; ``expected`` says in messages what it accepts, with examples."""

    def __init__(self, name: str, read: Callable[[str], int | None], expected: str) -> None:
        self.name, self._read, self._expected = name, read, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; BadParameter where it is none."""
        if (found := self._read(str(value))) is None:
            self.fail(f"expected {self._expected}, found {value!r}.", param, ctx)
        return found


SIZE = AmountType("size", specfile.memory, "a size such as 8GiB or 512MiB")
"""Bytes."""
CORES = AmountType("cores", specfile.cpu, "a number of cores such as 2, 1.5 or 500m")
"""Thousandths of a core."""
