"""Numbers from growth series: what one more file costs, what fits, whether a held-out point was predicted."""

from __future__ import annotations

import itertools
import math

from avadm_validation.measuring.extract import Inputs, Params, document, extractor, number
from avadm_validation.protocol import stats
from avadm_validation.suites.storage.extract.windows import made

ALLOCATED = 65536
"""Least bytes that an object takes: the largest bluestore_min_alloc_size (HDD, up to release 15)."""


def counted(inputs: Inputs) -> list[float]:
    """Return how many files there were at each ``doc``, by filegen's own output: ``made`` holds as many for each."""
    texts, points = inputs["made"], len(inputs["doc"])
    each, rest = divmod(len(texts), points)
    if rest or not each:
        raise ValueError("the outputs of filegen do not belong to the points of the series")
    steps = [made({"clients": texts[i * each : (i + 1) * each]}, {}) for i in range(points)]
    return list(itertools.accumulate(steps))


def last_count(inputs: Inputs, params: Params) -> float:
    """Return how many files there were at the last point."""
    return counted(inputs)[-1]


@extractor(files=last_count)
def growth(inputs: Inputs, params: Params) -> float:
    """Return (number at ``path`` in ``doc`` - the same in ``base``) / files ``made``."""
    where = {"path": params["path"]}
    before = number({"doc": inputs.get("base", [])}, where)
    return (number(inputs, where) - before) / counted(inputs)[-1]


@extractor(files=last_count)
def held_out(inputs: Inputs, params: Params) -> float:
    """Return 1 if the series' last point lies in the interval that the others predict, else 0."""
    where = {"path": params["path"]}
    before = number({"doc": inputs.get("base", [])}, where)
    points = [
        (x, number({"doc": [t]}, where) - before) for x, t in zip(counted(inputs), inputs["doc"], strict=True)
    ]
    if len(points) < 4 or any(math.isnan(y) or y <= 0 for _, y in points):
        return math.nan
    return float(stats.holds_out(points))


@extractor(files=last_count)
def files_that_fit(inputs: Inputs, params: Params) -> float:
    """Return how many files fit: bytes available over bytes allocated per file, the least over all pools.

    ``base`` and ``doc`` are ``ceph df detail`` before and after the files ``made``. What counts is what is allocated, not
    what was stored: a small file takes ``bluestore_min_alloc_size`` of each copy. From release 14 on ``bytes_used`` is
    that, of all copies and with omap, and ``avail_raw`` is what it comes out of. Before, ``bytes_used`` is what was
    stored, and each object is taken for ``ALLOCATED`` bytes at least; ``max_avail`` allows for the copies.
    """
    before, after = (
        {p["name"]: p["stats"] for p in document((inputs.get(g) or [""])[0]).get("pools", [])}
        for g in ("base", "doc")
    )
    files = counted(inputs)[-1]
    fits = []
    for name, stat in after.items():
        more = {k: stat.get(k, 0) - before.get(name, {}).get(k, 0) for k in ("bytes_used", "objects")}
        raw = "avail_raw" in stat
        grown = more["bytes_used"] if raw else max(more["bytes_used"], more["objects"] * ALLOCATED)
        if grown > 0:
            fits.append(stat["avail_raw" if raw else "max_avail"] / (grown / files))
    return min(fits, default=math.nan)


@extractor()
def dumped(inputs: Inputs, params: Params) -> float:
    """Return the number after ``key:`` in dumpe2fs's output."""
    for line in (inputs.get("doc") or [""])[0].splitlines():
        name, _, value = line.partition(":")
        if name == params["key"]:
            return float(value)
    return math.nan


def _usage(text: str) -> dict[str, float]:
    """Return free blocks and inodes, block size and inodes, from ``stat -f`` as JSON or from ``dumpe2fs -h``."""
    if text.lstrip().startswith("{"):
        return {k: float(v) for k, v in document(text).items()}
    names = {
        "blocks_free": "Free blocks",
        "block": "Block size",
        "inodes": "Inode count",
        "inodes_free": "Free inodes",
    }
    return {k: dumped({"doc": [text]}, {"key": name}) for k, name in names.items()}


@extractor(files=last_count)
def inodes_fit(inputs: Inputs, params: Params) -> float:
    """Return how many files fit in a file system: the less of its inodes and its free bytes over bytes per file."""
    before, after = (_usage((inputs.get(g) or [""])[0]) for g in ("base", "doc"))
    used = (before["blocks_free"] - after["blocks_free"]) * before["block"]
    by_bytes = (
        before["blocks_free"] * before["block"] / (used / counted(inputs)[-1]) if used > 0 else math.nan
    )
    return min(float(before["inodes_free"]), by_bytes)


@extractor(files=last_count)
def held_out_used(inputs: Inputs, params: Params) -> float:
    """Return 1 if bytes used at the last point lie in the interval that the others predict, else 0."""
    before = _usage((inputs.get("base") or [""])[0])
    xs = counted(inputs)
    used = [(before["blocks_free"] - _usage(t)["blocks_free"]) * before["block"] for t in inputs["doc"]]
    if len(xs) < 4 or any(u <= 0 for u in used):
        return math.nan
    return float(stats.holds_out(list(zip(xs, used, strict=True))))
