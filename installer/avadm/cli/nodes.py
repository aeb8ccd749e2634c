"""The option --limit of verbs that read nodes, and short names for sets of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

from avadm.errors import AvadmError
from avadm.site.model import Node, Site


def select(site: Site, limit: str | None) -> list[Node]:
    """Return the site's nodes that a limit names, in the file's order; all without a limit.

    Args:
        site: the site.
        limit: names, patterns (``stor*``) or roles, separated by commas.

    Raises:
        AvadmError: a part of the limit matches no node.
    """
    if limit is None:
        return list(site.nodes)
    chosen: set[str] = set()
    for part in [p.strip() for p in limit.split(",") if p.strip()] or [limit]:
        found = {n.name for n in site.nodes if fnmatchcase(n.name, part) or part in n.roles}
        if not found:
            raise AvadmError.of(
                "limit",
                where="--limit",
                found=part,
                wanted=f"node names, patterns or roles; nodes are {compact(n.name for n in site.nodes)}",
            )
        chosen |= found
    return [n for n in site.nodes if n.name in chosen]


def compact(names: Iterable[str]) -> str:
    """Return names with runs of numbers joined: ``gpu1, stor1-3``."""
    split = {name: re.fullmatch(r"(.*?)(\d+)", name) for name in set(names)}
    parts = [name for name, match in split.items() if match is None]
    matches = [m for m in split.values() if m is not None]
    padded = {m[1] for m in matches if m[2].startswith("0")}
    numbered = [(m[1], len(m[2]) if m[1] in padded else 0, int(m[2])) for m in matches]
    for (stem, width), group in groupby(sorted(numbered), key=lambda n: n[:2]):
        for run in _runs([n for _, _, n in group]):
            first, last = (str(n).zfill(width) for n in (run[0], run[-1]))
            parts.append(f"{stem}{first}" if first == last else f"{stem}{first}-{last}")
    return ", ".join(sorted(parts))


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split ascending numbers into runs without gaps."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return runs
