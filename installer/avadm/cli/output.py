"""Printing: findings, tables and JSON; the one place that knows the console."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from avadm.findings import Finding, Severity

console = Console(highlight=False, soft_wrap=True)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)

FOUND_SHOWN = 5  # hosts on which something else was found, one a line
MARKS = {
    Severity.ERROR: ("✗", "bold red"),
    Severity.UNKNOWN: ("?", "magenta"),
    Severity.WARNING: ("!", "yellow"),
    Severity.INFO: ("·", "cyan"),
}


def print_json(data: object) -> None:
    """Print data as JSON on standard output, nothing else."""
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def _lines(finding: Finding, found: Mapping[str, str]) -> list[str]:
    rows = [("where", finding.where), ("on", ", ".join(found)), ("found", _found(finding, found))]
    rows += [("expected", finding.wanted), ("remedy", finding.remedy)]
    return [f"    {name:<9}{visible(value)}" for name, value in rows if value]


def _found(finding: Finding, found: Mapping[str, str]) -> str:
    """Return what was found; by host where it is not the same on all."""
    if len(set(found.values())) <= 1:
        return next(iter(found.values()), finding.found)
    lines = [f"{host}: {value}" for host, value in found.items()]
    more = len(lines) - FOUND_SHOWN
    return "\n".join(lines[:FOUND_SHOWN] + ([f"and {more} more"] if more > 0 else []))


def visible(text: str) -> str:
    """Return a text without what would steer the terminal: it may come from a file or from a node."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text).replace(
        "\n", "\n             "
    )


def grouped(findings: Sequence[Finding]) -> list[tuple[Finding, dict[str, str]]]:
    """Return findings as they are printed: each with host to what was found there, the same one on several hosts once.

    Several of one host stay apart, even where only what was found differs.
    """
    groups: dict[Finding, list[dict[str, str]]] = {}
    for finding in findings:
        parts = groups.setdefault(
            replace(finding, host=None, found="" if finding.host else finding.found), [{}]
        )
        if finding.host:
            part = next((p for p in parts if p.get(finding.host, finding.found) == finding.found), None)
            if part is None:
                parts.append(part := {})
            part[finding.host] = finding.found
    return [(finding, part) for finding, parts in groups.items() for part in parts]


def print_findings(findings: Sequence[Finding], to: Console = stderr) -> None:
    """Print findings, the same one on several hosts once, errors last so that they stay on the screen."""
    order = list(Severity)[::-1]
    for finding, found in sorted(grouped(findings), key=lambda g: order.index(g[0].severity)):
        mark, style = MARKS[finding.severity]
        to.print(Text(f"{mark} {visible(finding.what)}", style=style))
        for line in _lines(finding, found):
            to.print(Text(line))


def print_progress(line: str) -> None:
    """Show one line of what is at work."""
    stderr.print(Text(line, style="dim"))


def heading(text: str) -> None:
    """Print a section heading."""
    console.print(f"\n[bold]{escape(text)}[/bold]")


def as_dicts(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as JSON-ready data."""
    return [f.as_dict() for f in findings]
