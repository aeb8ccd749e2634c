"""A-FS3: 200 million files on cephfs: a growth series and an honest projection (acceptance.md 2.4)."""

from __future__ import annotations

import math
import time

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.extract import at, document
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol import stats
from avadm_validation.protocol.model import Sample, Series
from avadm_validation.suites.storage.filemetrics import failed, held_out, reached
from avadm_validation.suites.storage.mds import active, daemon
from avadm_validation.suites.storage.measure import put_aside
from avadm_validation.suites.storage.tools import filegen

ID = "A-FS3"
TITLE = ("cephfs: total number of files", "cephfs:文件总数")
NEEDS = "cephfs"
BYTES_PER_INODE = 2048  # MDS memory per cached inode: Yan Zheng, ceph-users 2016, in acceptance.md 2.4

SETTLE_S = 60.0
"""Seconds to wait at most for the MDS's purging."""
PAUSE_S = 0.3
STILL = 1
"""Looks just before the last that must not have shown more."""


def run(ctx: Context) -> Outcome:
    """Grow in a geometric series; at each point read the MDS's memory and (settled) the pools' bytes."""
    clients, p = ctx.target.clients, ctx.params
    wanted = [int(n) for n in p["series"]]
    node, name = active(ctx)
    base = _base(ctx, node, name)
    points: list[tuple[int, str, list[str]]] = []  # files wanted, MDS's caches, filegen's outputs up to here
    made: list[str] = []
    pools = _pools(ctx)
    grown: list[tuple[list[str], str]] = []
    done = 0
    try:
        for step, n in enumerate(wanted):
            each = -(-(n - done) // (len(clients) * int(p["procs"])))
            own = {c: ["--client", c] for c in clients}
            more = filegen(
                ctx,
                "create",
                own,
                "--dir",
                ctx.work,
                "--first",
                step,
                "--files",
                each,
                "--procs",
                int(p["procs"]),
                "--size",
                int(p["size"]),
            )
            made += more
            done += each * len(clients) * int(p["procs"])
            points.append((done, _caches(ctx, node, name), list(made)))
            if float(p["settle_s"]):
                ctx.step("let the pools' statistics settle", 1, float(p["settle_s"]))
                daemon(ctx, node, name, "flush journal", "flush")
                ctx.rec.run(ctx.target.mon, f"sleep {float(p['settle_s']):g}", "settle", timeout=300)
                grown.append((list(made), _pools(ctx)))
    finally:
        put_aside(ctx, clients, ctx.work)
    memory = [
        ctx.sample("growth", {"base": [base], "doc": [path], "made": so_far}, path="pool.bytes")
        for _, path, so_far in points
    ]
    inputs = {"base": [base], "doc": [path for _, path, _ in points], "made": made}
    held = ctx.sample("held_out", inputs, path="pool.bytes")
    metrics = [
        reached(ctx, made),
        failed(ctx, made),
        held_out(held),
        metric(
            "mds-bytes-per-file",
            ("MDS cache memory per new file", "每文件 MDS 缓存内存"),
            "B",
            "cluster",
            memory[-1:],
        ),
    ]
    fits = _capacity(ctx, pools, grown)
    if fits:
        metrics.append(
            metric(
                "files",
                ("files that fit, by growth of the pools", "按增长推算可容纳文件数"),
                "files",
                "cluster",
                fits,
            )
        )
    memory_points = [(float(n), s.value * n) for (n, _, _), s in zip(points, memory, strict=True)]
    return Outcome(
        method=f"filegen: growth series of {', '.join(f'{n:,}' for n, _, _ in points)} files of {p['size']} B from "
        f"{len(clients)} clients; log-log regression with a 95 % prediction interval, refused beyond "
        f"{stats.MAX_DECADES:.0f} decades; MDS memory bounds the working set ({BYTES_PER_INODE} B per inode), the pools "
        "bound the total",
        metrics=metrics,
        series=[
            Series(
                name="MDS cache",
                group="MDS memory by files",
                kind="scaling",
                x_label="files",
                x_unit="count",
                y_label="memory",
                y_unit="B",
                points=[x for x in memory_points if x[1] > 0],
                log_x=True,
                log_y=True,
            )
        ],
        reasons=_reasons(ctx, points[-1][0], fits),
        remedy="Run with --effort full: it grows to the size from which two decades reach the target.",
    )


def _base(ctx: Context, node: str, name: str) -> str:
    """Return the MDS's caches before the first file, once it has let go of what earlier checks removed.

    Removed files are strays that the MDS purges by and by; memory that it gives back while the series grows would be
    taken for files that need none.
    """
    end, seen = time.monotonic() + SETTLE_S, [(math.inf, math.inf)]
    while True:
        perf = document(daemon(ctx, node, name, "perf dump mds_cache", "strays").stdout)
        path = _caches(ctx, node, name)
        seen.append(
            (
                float(at(perf, "mds_cache.num_strays") or 0),
                float(at(document(ctx.read(path)), "pool.bytes") or 0),
            )
        )
        # A few strays may stay for long: a client still holds them. What counts is that nothing shrinks any more.
        (strays, size), *before = reversed(seen)
        if all(strays >= s and size >= b for s, b in before[:STILL]) or time.monotonic() > end:
            return path
        ctx.step("wait until the MDS has purged what was removed")
        time.sleep(PAUSE_S)


def _caches(ctx: Context, node: str, name: str) -> str:
    daemon(ctx, node, name, "cache status", "cache-status")
    return ctx.rec.last(node)


def _pools(ctx: Context) -> str:
    ctx.ceph("ceph df detail --format json", "df")
    return ctx.rec.last(ctx.target.mon)


def _capacity(ctx: Context, base: str, grown: list[tuple[list[str], str]]) -> list[Sample]:
    return [
        s
        for made, path in grown
        if not math.isnan(
            (s := ctx.sample("files_that_fit", {"base": [base], "doc": [path], "made": made})).value
        )
    ]


def _reasons(ctx: Context, reached: int, fits: list[Sample]) -> list[str]:
    decades = math.log10(2e8 / reached)
    reasons = [
        f"largest n reached: {reached:,} (1/{2e8 / reached:,.0f} of 200 million, {decades:.1f} decades short)"
    ]
    if decades > stats.MAX_DECADES:
        reasons.append(
            f"not projected to 200 million: beyond {stats.MAX_DECADES:.0f} decades no projection is made"
        )
    if not fits:
        reasons.append(
            "bytes in the pools were not read at this effort: their statistics take seconds to settle"
        )
    return reasons
