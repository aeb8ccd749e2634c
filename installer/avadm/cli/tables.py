"""Tables that can be read: whole lines where there is no terminal; on a narrow terminal the columns that matter stay whole."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from avadm.cli.output import console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNLIMITED = 100_000
"""Columns of an output that no one's screen limits."""


def print_table(table: Table, *, whole: Collection[str], to: Console = console) -> None:
    """Print a table.

    Without a terminal (a pipe, a log of CI) each row is a record on a line of its own, and nothing is cut or wrapped. On a
    terminal that is too narrow the other columns are wrapped between words; where even the important ones do not fit
    each row becomes a block of its own, one line per column.

    Args:
        table: what to print; its columns need headers, or none of them has one.
        whole: headers of the columns that are never cut or wrapped.
        to: where.
    """
    full = _width(table, to)
    if not to.is_terminal:
        # A log has no use for a row that is broken into several lines.
        for column in table.columns:
            column.no_wrap = True
        # Nor has a program that reads it one for frames.
        table.box, table.pad_edge = None, False
        table.width = _width(table, to)
        to.print(table, crop=False)
        return
    if full <= to.width:
        to.print(table)
        return
    for column in table.columns:
        column.no_wrap = str(column.header) in whole
        column.overflow = "fold"
    if _least(table, to) <= to.width:
        # Without soft wrapping: the table itself breaks what does not fit.
        to.print(table, soft_wrap=False, width=to.width)
    else:
        _blocks(table, to)


def _width(table: Table, to: Console) -> int:
    from rich.measure import Measurement

    return Measurement.get(to, to.options.update(width=UNLIMITED), table).maximum


def _least(table: Table, to: Console) -> int:
    """Return the width below which a column that is to stay whole would be cut."""
    from rich.measure import Measurement

    return Measurement.get(to, to.options.update(width=UNLIMITED), table).minimum


def _blocks(table: Table, to: Console) -> None:
    """Print each row as a block: a line for each column that has a value."""
    from rich.text import Text

    names = [str(column.header) for column in table.columns]
    width = max(map(len, names))
    for number, row in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        if number:
            to.print()
        for name, cell in zip(names, row, strict=True):
            value = cell if isinstance(cell, Text) else Text(str(cell))
            if value.plain:
                to.print(Text(f"{name:<{width}}  ") + value)
