"""A-AL-HIT: the second read of a file comes from the cache, by the workers' own counters, and how much faster it is."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.targets import UnderStore
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.alluxio.cache import Cache

ID = "A-AL-HIT"
TITLE = ("cache: first against second read", "缓存:首次读与再次读")
NEEDS = ""
_FILLED = 0.8
"""Share of a worker that is filled before what was read is read again: blocks are not spread evenly."""


def run(ctx: Context) -> Outcome:
    """For each under store and size: files that no one has read, read twice, several times over."""
    cache, metrics = Cache(ctx), []
    every: list[str] = []
    shares, misses, large = [], [], []
    room = cache.capacity(cache.workers("capacity")) / len(cache.target.workers) * _FILLED
    for store in (s for s in cache.target.stores if not s.read_only):
        sets = {kind: _names(ctx, store, kind) for kind in ("large", "small")}
        ctx.step(f"make files in {store.name}")
        cache.make(store, {n: _of(ctx, kind) for kind, names in sets.items() for n in names})
        for kind in sets:
            found, reads, pages = _pairs(ctx, cache, store, kind, room)
            metrics += found
            large += found[0].samples if kind == "large" else []
            every += reads
            for before, after in pages:
                inputs = {"before": before, "after": after}
                shares.append(ctx.sample("cache_hit_share", inputs))
                misses.append(ctx.sample("cache_grown", inputs, names="Worker_BlocksReadUfs"))
    wrong = ctx.sample("cache_wrong", {"reads": every})
    p = ctx.params
    return Outcome(
        method=f"files written by another client straight to the under store, or through the cache and freed there; read twice "
        f"through the mount by a client without a worker where there is one; {p['repetitions']} repetitions with fresh files: "
        f"{p['large_count']} of {p['large_size']} B, {p['small_count']} of {p['small_size']} B; only reading is timed; every "
        "byte is compared with what the file's name says it is; hits and misses of the second read are the workers' counters",
        metrics=[
            metric(
                "hits",
                ("second read: blocks from the cache / all, by workers' counters", "再次读命中率(计数器)"),
                "ratio",
                "cluster",
                shares,
            ),
            metric(
                "misses",
                ("second read: blocks from the under store, by workers' counters", "再次读未命中块数"),
                "blocks",
                "cluster",
                misses,
            ),
            metric(
                "wrong",
                ("files with other bytes than were written", "内容错误的文件数"),
                "files",
                "client",
                [wrong],
            ),
            metric(
                "large",
                ("large files of all under stores: first read / second", "大文件加速比(全部存储)"),
                "ratio",
                "client",
                large,
            ),
            *metrics,
        ],
        remedy="`avadm-alluxio fs ls` shows how much of a file is cached; a tier smaller than what is read serves nothing.",
    )


def _names(ctx: Context, store: UnderStore, kind: str) -> list[str]:
    """Return the folders of an under store's files of one kind, one for each repetition."""
    return [f"{store.name}-{kind}-{turn}" for turn in range(int(ctx.params["repetitions"]))]


def _of(ctx: Context, kind: str) -> tuple[int, int]:
    """Return size and number of a folder's files."""
    return int(ctx.params[f"{kind}_size"]), int(ctx.params[f"{kind}_count"])


def _pairs(
    ctx: Context, cache: Cache, store: UnderStore, kind: str, room: float
) -> tuple[list[Metric], list[str], list[tuple[list[str], list[str]]]]:
    """Measure one under store with files of one size; return metrics, raw files of reads, and counters around second ones.

    So many folders are read before any is read again as one worker alone would still hold in ``room`` bytes.
    """
    size, count = _of(ctx, kind)
    ratios, rates, reads, pages = [], [], [], []
    names = _names(ctx, store, kind)
    ctx.step(f"{store.name}, {kind} files", len(names))
    at_once = max(1, int(room / (size * count))) if room > 0 else 1
    for some in (names[at : at + at_once] for at in range(0, len(names), at_once)):
        firsts = [cache.read(store, name, size, count) for name in some]
        cache.settle()
        for name, first in zip(some, firsts, strict=True):
            before = cache.workers("before")
            second = cache.read(store, name, size, count)
            pages.append((before, cache.workers("after")))
            reads += [first, second]
            inputs = {"first": [first], "second": [second]}
            ratios.append(ctx.sample("cache_speedup", inputs, bytes=size * count))
            rates.append(ctx.sample("cache_rate", {"reads": [second]}))
    zh = {"large": "大文件", "small": "小文件"}[kind]
    made = [
        metric(
            f"{kind}-{store.name}",
            (
                f"{store.name}, {kind} files: seconds of the first read / of the second",
                f"{store.name} {zh}加速比",
            ),
            "ratio",
            "client",
            ratios,
        ),
        metric(
            f"{kind}-{store.name}-rate",
            (f"{store.name}, {kind} files: second read", f"{store.name} {zh}再次读速率"),
            "B/s",
            "client",
            rates,
        ),
    ]
    return made, reads, pages
