"""Numbers from the windows that filegen and rbdread print: rates, shares, scaling, latencies, errors."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, document, extractor, number
from avadm_validation.protocol import stats


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


def lasted(texts: list[str], repetition: int) -> float:
    """Return how long the clients' common window of a repetition was, seconds; 0 if any has none."""
    found = windows({"clients": texts}, {"repetition": float(repetition)})
    if not found or any("ticks" not in w for w in found):
        return 0.0
    begin, end = span(found)
    return max(0.0, end - begin) if math.isfinite(end) else 0.0


def shortest(inputs: Inputs, params: Params) -> float:
    """Return the shortest common window of a repetition over the groups, seconds."""
    return min(lasted(texts, int(params.get("repetition", 0))) for texts in inputs.values())


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


@extractor(seconds=shortest)
def rate(inputs: Inputs, params: Params) -> float:
    """Return all clients' operations (``count: bytes``: bytes) per second in the common window."""
    found = rates(inputs, params)
    return math.fsum(found) if found else math.nan


@extractor(seconds=shortest)
def least_share(inputs: Inputs, params: Params) -> float:
    """Return the slowest client's rate over the clients' mean rate (1 = all alike)."""
    found = rates(inputs, params)
    return min(found) / fmean(found) if found and sum(found) else math.nan


@extractor(seconds=shortest)
def scaling(inputs: Inputs, params: Params) -> float:
    """Return aggregate(C) over the largest aggregate of fewer clients; groups are named ``1``, ``2`` and so on."""
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


def _histogram(inputs: Inputs, params: Params, group: str) -> Counter[float]:
    merged: Counter[float] = Counter()
    for window in windows(inputs, params, group):
        merged.update({int(bucket): n for bucket, n in window.get("latency_us", {}).items()})
    return merged


@extractor(seconds=shortest)
def latency(inputs: Inputs, params: Params) -> float:
    """Return the ``q`` quantile of all clients' operations in milliseconds."""
    return stats.percentile(_histogram(inputs, params, "clients"), float(params.get("q", 0.99))) / 1000


@extractor(seconds=shortest)
def latency_ratio(inputs: Inputs, params: Params) -> float:
    """Return p99 with most clients over p99 with one; groups are named ``1``, ``2`` and so on."""
    groups = sorted(inputs, key=int)
    one, many = (stats.percentile(_histogram(inputs, params, g), 0.99) for g in (groups[0], groups[-1]))
    return many / one if one else math.nan


@extractor()
def errors(inputs: Inputs, params: Params) -> float:
    """Return the number of failed operations of all clients and repetitions; NaN if a client reported nothing."""
    total = 0
    for text in inputs.get("clients", []):
        doc = document(text)
        repetitions = doc.get("repetitions", [doc] if "error_count" in doc else [])
        if not repetitions:
            return math.nan
        total += sum(int(r["error_count"]) + int(r.get("bad_blocks", 0)) for r in repetitions)
    return float(total)


@extractor()
def made(inputs: Inputs, params: Params) -> float:
    """Return how many operations succeeded, over all clients and repetitions."""
    reps = [r for text in inputs.get("clients", []) for r in document(text).get("repetitions", [])]
    return float(sum(sum(r["made"]) for r in reps)) if reps else math.nan


@extractor()
def made_share(inputs: Inputs, params: Params) -> float:
    """Return operations that succeeded over those ``expected``."""
    return made(inputs, params) / float(params["expected"])


@extractor()
def missing(inputs: Inputs, params: Params) -> float:
    """Return |files created - distinct entries that readdir showed|; NaN if either is unknown."""
    shown = number(inputs, {"path": "distinct"})
    return abs(made(inputs, params) - shown)
