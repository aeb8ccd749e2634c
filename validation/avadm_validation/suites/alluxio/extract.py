"""Numbers of the cache from raw text.

Groups: ``before`` and ``after`` pages of workers' metrics; ``first``, ``second``, ``reads`` what `cacheread read` printed;
``wait`` what `cacheread wait` printed; ``mounts`` the lines of /proc/mounts; ``table`` what a master reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from avadm_validation.measuring.extract import Inputs, Params, document, extractor

HITS = ("Worker_BlocksReadLocal",)
"""Blocks that a worker read from its tiers, also for clients on other nodes: there is no other counter of them."""
MISSES = ("Worker_BlocksReadUfs",)


def total(pages: Sequence[str], names: Sequence[str]) -> float:
    """Return the sum of some metrics over pages; NaN where a page is none.

    A worker shows a counter only once it has counted, so that one which is absent from a worker's page is 0.
    """
    found = 0.0
    for page in pages:
        lines = [line.split() for line in page.splitlines() if line and not line.startswith("#")]
        values = {line[0].partition("{")[0]: float(line[-1]) for line in lines if len(line) > 1}
        absent = 0.0 if "Worker_CapacityTotal" in values else math.nan
        found += sum(values.get(name, absent) for name in names)
    return found if pages else math.nan


def grown(inputs: Inputs, names: Sequence[str]) -> float:
    """Return by how much some metrics grew between the pages of ``before`` and ``after``."""
    if len(inputs["before"]) != len(inputs["after"]):
        return math.nan
    return total(inputs["after"], names) - total(inputs["before"], names)


@extractor()
def cache_grown(inputs: Inputs, params: Params) -> float:
    """Return by how much the metrics ``names`` (separated by commas) grew."""
    return grown(inputs, str(params["names"]).split(","))


@extractor()
def cache_hit_share(inputs: Inputs, params: Params) -> float:
    """Return the share of the blocks read that workers had, by their own counters; NaN where they read none."""
    hits, misses = grown(inputs, HITS), grown(inputs, MISSES)
    return hits / (hits + misses) if hits + misses > 0 else math.nan


@extractor()
def cache_speedup(inputs: Inputs, params: Params) -> float:
    """Return the seconds of the first read over those of the second; NaN where either was not of all bytes."""
    first, second = (document(inputs[g][0]) for g in ("first", "second"))
    if not first["bytes"] == second["bytes"] == float(params["bytes"]) or second["seconds"] <= 0:
        return math.nan
    return float(first["seconds"]) / float(second["seconds"])


@extractor()
def cache_rate(inputs: Inputs, params: Params) -> float:
    """Return bytes a second of a read; NaN where it read none."""
    (text,) = inputs["reads"]
    read = document(text)
    return float(read["bytes"]) / float(read["seconds"]) if read["bytes"] else math.nan


@extractor()
def cache_wrong(inputs: Inputs, params: Params) -> float:
    """Return how many files had other bytes than they should; NaN where nothing was read."""
    reads = [document(t) for t in inputs["reads"]]
    return (
        float(sum(len(r["wrong"]) for r in reads)) if all(r["files"] for r in reads) and reads else math.nan
    )


@extractor()
def cache_failed_at_end(inputs: Inputs, params: Params) -> float:
    """Return how many files could not be read in the last round of each reader."""
    return float(sum(document(t)["last_round_failed"] for t in inputs["reads"]))


@extractor()
def cache_gap_s(inputs: Inputs, params: Params) -> float:
    """Return the seconds from the loss (``at_s`` after the readers' start) to the last failed read; 0 without one."""
    last = [document(t)["last_error_s"] for t in inputs["reads"]]
    return max([0.0, *(float(s) - float(params["at_s"]) for s in last if s is not None)])


@extractor()
def cache_errors(inputs: Inputs, params: Params) -> float:
    """Return how many reads failed; NaN where nothing was read."""
    reads = [document(t) for t in inputs["reads"]]
    return (
        float(sum(len(r["errors"]) for r in reads)) if reads and all(r["files"] for r in reads) else math.nan
    )


@extractor()
def cache_late(inputs: Inputs, params: Params) -> float:
    """Return the seconds until the change was seen, over ``limit_s``; infinity where it was not in the time waited."""
    return cache_seen_s(inputs, params) / float(params["limit_s"])


@extractor()
def cache_capacity(inputs: Inputs, params: Params) -> float:
    """Return the bytes that all workers hold together."""
    return total(inputs["after"], ("Worker_CapacityTotal",))


@extractor()
def cache_seen_s(inputs: Inputs, params: Params) -> float:
    """Return after how many seconds the change was seen; infinity where it was not in the time waited."""
    seen = document(inputs["wait"][0])["seen_s"]
    return math.inf if seen is None else float(seen)


@extractor()
def cache_wait_wrong(inputs: Inputs, params: Params) -> float:
    """Return how often what was read was neither the old nor the new version."""
    return float(document(inputs["wait"][0])["wrong"])


@extractor()
def cache_unmounted(inputs: Inputs, params: Params) -> float:
    """Return on how many clients no FUSE file system is mounted at ``path``; other file systems there count as none."""

    def there(text: str) -> bool:
        lines = [line.split() for line in text.splitlines()]
        return any(len(p) > 2 and p[1] == params["path"] and _fuse(p[2]) for p in lines)

    return float(int(params["clients"]) - sum(map(there, inputs["mounts"])))


@extractor()
def cache_workers(inputs: Inputs, params: Params) -> float:
    """Return how many workers the leading master knows, by its own metric; 0 where no master leads."""
    values = [total([page], ("Cluster_Workers",)) for page in inputs["masters"]]
    return max((v for v in values if not math.isnan(v)), default=0.0)


@extractor()
def cache_over(inputs: Inputs, params: Params) -> float:
    """Return the largest share of its capacity that a worker uses."""
    used = [
        total([p], ("Worker_CapacityUsed",)) / total([p], ("Worker_CapacityTotal",)) for p in inputs["after"]
    ]
    return math.nan if not used or any(math.isnan(u) for u in used) else max(used)


def _fuse(kind: str) -> bool:
    return kind.startswith("fuse") and not kind.startswith("fuse.ceph")
