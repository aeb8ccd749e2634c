"""Output on the console: tables, problems and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ava.domain.compat import UTC
from ava.domain.problems import Problem

console = Console(highlight=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output, nothing else."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=not _utf8()))


def print_json_line(data: BaseModel) -> None:
    """Print data as one line of JSON on standard output."""
    print(json.dumps(_plain(data), ensure_ascii=not _utf8()))


def _utf8() -> bool:
    """Return whether standard output takes every character; JSON escapes the others."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _plain(data: Any) -> Any:
    if isinstance(data, BaseModel):
        return data.model_dump(mode="json")
    if isinstance(data, Iterable) and not isinstance(data, (str, dict)):
        return [_plain(item) for item in data]
    return data


def visible(text: str) -> str:
    """Return a text with control characters escaped: it may come from another user."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def print_problems(problems: Sequence[Problem]) -> None:
    """Print problems on standard error: place, found, expected and remedy of each."""
    for problem in problems:
        stderr.print(Text(f"✗ {visible(problem.what)}", style="bold red"))
        rows = (
            ("where", problem.where),
            ("found", problem.found),
            ("expected", problem.wanted),
            ("remedy", problem.remedy),
        )
        for name, value in rows:
            if value:
                stderr.print(Text(f"    {name:<9}" + visible(value).replace("\n", "\n             ")))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a table; columns named in ``right`` are numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    # A pipe takes lines of any length; a terminal folds what does not fit.
    Console(highlight=False, width=None if console.is_terminal else 1000).print(made)


def say(text: str) -> None:
    """Print a line of the result."""
    console.print(Text(visible(text)))


def note(text: str) -> None:
    """Print a message for people on standard error."""
    stderr.print(Text(visible(text)))


def done(text: str, data: Any, json_: bool) -> None:
    """Print the result of a change: JSON on standard output if requested, else a message on standard error."""
    if json_:
        print_json(data)
    else:
        note(text)


def cores(thousandths: int | None) -> str:
    """Return an amount of CPU."""
    return "∞" if thousandths is None else f"{thousandths / 1000:g}"


def size(count: int | None) -> str:
    """Return a number of bytes with a binary unit."""
    if count is None:
        return "∞"
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20)):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return str(count)


def number(count: int | None) -> str:
    """Return a number; no limit as ∞."""
    return "∞" if count is None else str(count)


def ago(time: datetime | None, now: datetime | None = None) -> str:
    """Return how long ago something was."""
    if time is None:
        return ""
    seconds = max(0, int(((now or datetime.now(UTC)) - time).total_seconds()))
    for unit, factor in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= factor:
            return f"{seconds // factor} {unit}"
    return f"{seconds} s"
