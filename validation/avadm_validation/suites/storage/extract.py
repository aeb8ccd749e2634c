"""From raw tool output to numbers: pure functions by name, used when measuring and again by ``verify``.

Each takes the texts of its raw files by group and its parameters, and returns one number; NaN where the raw data
hold no value (a NaN never passes).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from avadm_validation.protocol import stats

Inputs = Mapping[str, list[str]]
Params = Mapping[str, float | str]
Extractor = Callable[[Inputs, Params], float]


def document(text: str) -> Any:
    """Return the JSON document of a tool's output; {} where there is none (fio may print warnings before it)."""
    start = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else {}
    except ValueError:
        return {}


def windows(inputs: Inputs, params: Params, group: str = "clients") -> list[dict[str, Any]]:
    """Return one repetition's window of each client; a client without one is {}."""
    found = []
    for text in inputs.get(group, []):
        doc = document(text)
        repetitions = doc.get("repetitions", [doc] if "ticks" in doc else [])
        rep = int(params.get("repetition", 0))
        unit = int(doc.get("size", 1)) if params.get("count") == "bytes" else 1
        window = dict(repetitions[rep]) if rep < len(repetitions) else {}
        window["weight"] = unit
        found.append(window)
    return found


def span(found: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the common window in seconds after the gate: from the warm-up's end to the first stonewall."""
    begins = [float(w["warmup_s"]) for w in found]
    ends = [min(float(w["end_s"]), float(w["duration_s"]) or math.inf) for w in found]
    return (max(begins), min(ends)) if found else (0.0, 0.0)


def _amount(window: dict[str, Any], begin: float, end: float) -> float:
    """Return what a client did between two moments; a tick that is cut counts in part."""
    tick, total = float(window["tick_s"]), 0.0
    for i, n in enumerate(window["ticks"]):
        overlap = min(end, (i + 1) * tick) - max(begin, i * tick)
        if overlap > 0:
            total += n * min(1.0, overlap / tick)
    return total * float(window["weight"])


def rates(inputs: Inputs, params: Params, group: str = "clients") -> list[float]:
    """Return each client's operations (or bytes) per second in the common window; [] if any client is missing."""
    found = windows(inputs, params, group)
    if not found or any("ticks" not in w for w in found):
        return []
    begin, end = span(found)
    return [_amount(w, begin, end) / (end - begin) for w in found] if end > begin else []


def rate(inputs: Inputs, params: Params) -> float:
    """Return all clients' operations (``count: bytes``: bytes) per second in the common window."""
    found = rates(inputs, params)
    return math.fsum(found) if found else math.nan


def least_share(inputs: Inputs, params: Params) -> float:
    """Return the slowest client's rate over the clients' mean rate (1 = all alike)."""
    found = rates(inputs, params)
    return min(found) / stats.mean(found) if found and sum(found) else math.nan


def scaling(inputs: Inputs, params: Params) -> float:
    """Return aggregate(C) over the largest aggregate of fewer clients; groups are named ``1``, ``2``, …"""
    best = 0.0
    last = math.nan
    for group in sorted(inputs, key=int):
        if not math.isnan(last):
            best = max(best, last)
        found = rates(inputs, params, group)
        last = math.fsum(found) if found else math.nan
        if math.isnan(last):
            return math.nan
    return last / best if best else math.nan


def _histogram(inputs: Inputs, params: Params, group: str) -> dict[int, int]:
    merged: dict[int, int] = {}
    for window in windows(inputs, params, group):
        for bucket, n in window.get("latency_us", {}).items():
            merged[int(bucket)] = merged.get(int(bucket), 0) + n
    return merged


def latency(inputs: Inputs, params: Params) -> float:
    """Return the ``q`` quantile of all clients' operations in milliseconds."""
    return stats.percentile(_histogram(inputs, params, "clients"), float(params.get("q", 0.99))) / 1000


def latency_ratio(inputs: Inputs, params: Params) -> float:
    """Return p99 with most clients over p99 with one; groups are named ``1``, ``2``, …"""
    groups = sorted(inputs, key=int)
    one, many = (stats.percentile(_histogram(inputs, params, g), 0.99) for g in (groups[0], groups[-1]))
    return many / one if one else math.nan


def errors(inputs: Inputs, params: Params) -> float:
    """Return the number of failed operations of all clients and repetitions; NaN if a client said nothing."""
    total = 0
    for text in inputs.get("clients", []):
        doc = document(text)
        repetitions = doc.get("repetitions", [doc] if "error_count" in doc else [])
        if not repetitions:
            return math.nan
        total += sum(int(r["error_count"]) + int(r.get("bad_blocks", 0)) for r in repetitions)
    return float(total)


def made(inputs: Inputs, params: Params) -> float:
    """Return how many operations succeeded, over all clients and repetitions."""
    reps = [r for text in inputs.get("clients", []) for r in document(text).get("repetitions", [])]
    return float(sum(sum(r["made"]) for r in reps)) if reps else math.nan


def made_share(inputs: Inputs, params: Params) -> float:
    """Return operations that succeeded over those ``expected``."""
    return made(inputs, params) / float(params["expected"])


def missing(inputs: Inputs, params: Params) -> float:
    """Return |files created - distinct entries that readdir showed|; NaN if either is unknown."""
    shown = number(inputs, {"path": "distinct"})
    return abs(made(inputs, params) - shown)


def growth(inputs: Inputs, params: Params) -> float:
    """Return (number at ``path`` in ``doc`` - the same in ``base``) / ``files``."""
    at = {"path": params["path"]}
    before = number({"doc": inputs.get("base", [])}, at)
    return (number(inputs, at) - before) / float(params["files"])


def held_out(inputs: Inputs, params: Params) -> float:
    """Return 1 if the series' last point lies in the interval that the others predict, else 0."""
    at = {"path": params["path"]}
    before = number({"doc": inputs.get("base", [])}, at)
    xs = [float(n) for n in str(params["files"]).split(",")]
    points = [(x, number({"doc": [t]}, at) - before) for x, t in zip(xs, inputs.get("doc", []), strict=True)]
    if len(points) < 4 or any(math.isnan(y) or y <= 0 for _, y in points):
        return math.nan
    return float(stats.holds_out(points))


def files_that_fit(inputs: Inputs, params: Params) -> float:
    """Return how many files fit: bytes available over bytes used per file, the least over all pools.

    ``base`` and ``doc`` are ``ceph df detail`` before and after ``files`` were made. A pool's ``max_avail`` already
    allows for replicas, ``stored`` does not hold them.
    """
    before, after = (
        {p["name"]: p["stats"] for p in document((inputs.get(g) or [""])[0]).get("pools", [])}
        for g in ("base", "doc")
    )
    fits = []
    for name, stat in after.items():
        grown = stat.get("stored", stat.get("bytes_used", 0)) - before.get(name, {}).get(
            "stored", before.get(name, {}).get("bytes_used", 0)
        )
        if grown > 0:
            fits.append(stat["max_avail"] / (grown / float(params["files"])))
    return min(fits, default=math.nan)


def _at(doc: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(doc, list):
            doc = doc[int(key)] if key.isdigit() and int(key) < len(doc) else None
        else:
            doc = doc.get(key) if isinstance(doc, dict) else None
    return doc


def number(inputs: Inputs, params: Params) -> float:
    """Return the number at ``path`` (dotted) of the JSON in group ``doc``."""
    value = _at(document((inputs.get("doc") or [""])[0]), str(params["path"]))
    return float(value) if isinstance(value, (int, float)) else math.nan


def equals(inputs: Inputs, params: Params) -> float:
    """Return 1 if the JSON of every file has one of ``value`` (separated by |) at ``path``, else 0."""
    texts = [text for group in inputs.values() for text in group]
    wanted = str(params["value"]).split("|")
    return float(bool(texts) and all(str(_at(document(t), str(params["path"]))) in wanted for t in texts))


def contains(inputs: Inputs, params: Params) -> float:
    """Return 1 if every raw file contains ``text``, else 0."""
    texts = inputs.get("doc", [])
    return float(bool(texts) and all(str(params["text"]) in t for t in texts))


def length(inputs: Inputs, params: Params) -> float:
    """Return the number of entries of the JSON list that a file holds (e.g. ``dirfrag ls``)."""
    text = (inputs.get("doc") or [""])[0]
    try:
        doc = json.loads(text[text.index("[") :])
    except ValueError:
        return math.nan
    return float(len(doc))


def busy_pgs(inputs: Inputs, params: Params) -> float:
    """Return how many placement groups of ``ceph status`` are not exactly active+clean (scrubs count as busy)."""
    doc = document((inputs.get("doc") or [""])[0])
    if "pgmap" not in doc:
        return math.nan
    states = doc["pgmap"].get("pgs_by_state", [])
    return float(sum(int(s["count"]) for s in states if s["state_name"] != "active+clean"))


def osds_down(inputs: Inputs, params: Params) -> float:
    """Return how many OSDs of ``ceph status`` are not both up and in (13.2 nests the map once more)."""
    osds = _at(document((inputs.get("doc") or [""])[0]), "osdmap") or {}
    osds = osds.get("osdmap", osds)
    if "num_osds" not in osds:
        return math.nan
    return float(int(osds["num_osds"]) - min(int(osds["num_up_osds"]), int(osds["num_in_osds"])))


def versions(inputs: Inputs, params: Params) -> float:
    """Return the number of different ceph versions among daemons (``ceph versions``) and clients."""
    found = set(document((inputs.get("doc") or [""])[0]).get("overall", {}))
    found |= {str(document(t).get("version")) for t in inputs.get("clients", [])}
    # "ceph version 16.2.15 (hash) pacific (stable)": the number and the commit decide.
    return float(len({" ".join(v.split()[:4]) for v in found})) if found else math.nan


def skew(inputs: Inputs, params: Params) -> float:
    """Return the largest difference between two clocks that their intervals leave certain, milliseconds."""
    readings = document((inputs.get("doc") or [""])[0]).values()
    if not readings:
        return math.nan
    low, high = max(float(r["low"]) for r in readings), min(float(r["high"]) for r in readings)
    return max(0.0, low - high) * 1000


def least_avail(inputs: Inputs, params: Params) -> float:
    """Return the least pool's free bytes over the bytes ``needed``."""
    free = [p["stats"]["max_avail"] for p in document((inputs.get("doc") or [""])[0]).get("pools", [])]
    return float(min(free)) / float(params["needed"]) if free else math.nan


def ready(inputs: Inputs, params: Params) -> float:
    """Return the share of clients with fio, the bindings (where there is a ``pool``) and the ``mount``."""
    found = [document(t) for t in inputs.get("clients", [])]
    good = [
        bool(d.get("fio"))
        and (not params["pool"] or d.get("bindings"))
        and (not params["mount"] or d.get("mount") in ("fuse.ceph-fuse", "ceph", "fuse.ceph"))
        for d in found
    ]
    return sum(map(bool, good)) / len(good) if good else math.nan


def dumped(inputs: Inputs, params: Params) -> float:
    """Return the number after ``key:`` in dumpe2fs's output."""
    for line in (inputs.get("doc") or [""])[0].splitlines():
        name, _, value = line.partition(":")
        if name == params["key"]:
            return float(value)
    return math.nan


def inodes_fit(inputs: Inputs, params: Params) -> float:
    """Return how many files fit in a file system: the less of its inodes and its free bytes over bytes per file."""
    before, after = (document((inputs.get(g) or [""])[0]) for g in ("base", "doc"))
    used = (before["blocks_free"] - after["blocks_free"]) * before["block"]
    by_bytes = (
        before["blocks_free"] * before["block"] / (used / float(params["files"])) if used > 0 else math.nan
    )
    return min(float(before["inodes_free"]), by_bytes)


def held_out_used(inputs: Inputs, params: Params) -> float:
    """Return 1 if bytes used at the last point lie in the interval that the others predict, else 0."""
    before = document((inputs.get("base") or [""])[0])
    xs = [float(n) for n in str(params["files"]).split(",")]
    used = [
        float((before["blocks_free"] - document(t)["blocks_free"]) * before["block"]) for t in inputs["doc"]
    ]
    if len(xs) < 4 or any(u <= 0 for u in used):
        return math.nan
    return float(stats.holds_out(list(zip(xs, used, strict=True))))


def _jobs(text: str, name: str) -> list[dict[str, Any]]:
    return [j for j in document(text).get("jobs", []) if j.get("jobname") == name and not j.get("error")]


def fio(inputs: Inputs, params: Params) -> float:
    """Return the sum over clients of a fio job's number: ``job``, ``side`` (read, write), ``field``."""
    total = 0.0
    for text in inputs.get("clients", []):
        jobs = _jobs(text, str(params["job"]))
        if not jobs:
            return math.nan
        total += math.fsum(float(j[str(params["side"])][str(params["field"])]) for j in jobs)
    return total if inputs.get("clients") else math.nan


def fio_latency(inputs: Inputs, params: Params) -> float:
    """Return the worst client's 99th percentile completion latency of a fio job, milliseconds."""
    found = [
        float(_at(j, f"{params['side']}.clat_ns.percentile").get("99.000000", math.nan)) / 1e6
        for text in inputs.get("clients", [])
        for j in _jobs(text, str(params["job"]))
        if _at(j, f"{params['side']}.clat_ns.percentile")
    ]
    return max(found, default=math.nan)


def fio_seconds(inputs: Inputs, params: Params) -> float:
    """Return the shortest run time of a fio job over the clients, seconds."""
    found = [
        float(j[str(params["side"])]["runtime"]) / 1000
        for text in inputs.get("clients", [])
        for j in _jobs(text, str(params["job"]))
    ]
    return min(found, default=math.nan)


EXTRACTORS: dict[str, Extractor] = {
    f.__name__: f
    for f in (
        rate,
        least_share,
        scaling,
        latency,
        latency_ratio,
        errors,
        made,
        made_share,
        missing,
        growth,
        held_out,
        files_that_fit,
        dumped,
        inodes_fit,
        held_out_used,
        busy_pgs,
        osds_down,
        versions,
        skew,
        least_avail,
        ready,
        number,
        equals,
        contains,
        length,
        fio,
        fio_latency,
        fio_seconds,
    )
}
