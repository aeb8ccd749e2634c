"""A-FS5: several clients on one mount at once: scaling, fairness, latency, and that they see one another's data."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Series
from avadm_validation.suites.storage.filemetrics import failed
from avadm_validation.suites.storage.measure import counts, create, put_aside, read_others
from avadm_validation.suites.storage.scaling import scaling, share, steps, tail, throughput
from avadm_validation.suites.storage.tools import filegen

ID = "A-FS5"
TITLE = ("cephfs: several clients at once, no clear loss", "cephfs:多客户端同时读写,性能无明显下降")
NEEDS = "cephfs"


def run(ctx: Context) -> Outcome:
    """Measure C = 1, 2, … clients; then let every client verify what every other wrote."""
    clients, p = ctx.target.clients, ctx.params
    if len(clients) < 2:
        raise MeasureError("several clients at once need at least two nodes with the role client")
    at_once, n = steps(clients), int(p["repetitions"])
    writes: dict[str, list[str]] = {}
    reads: dict[str, list[str]] = {}
    try:
        for c in at_once:
            folder = f"{ctx.work}/step-{c}"  # never the name of a client
            writes[str(c)] = create(ctx, clients[:c], folder, share=c / sum(at_once))
            reads[str(c)] = read_others(ctx, clients[:c], writes[str(c)], folder)
        coherence, expected = _coherence(ctx)
    finally:
        put_aside(ctx, clients, ctx.work)
    metrics: list[Metric] = []
    series: list[Series] = []
    for name, zh, groups in (("write", "写", writes), ("read", "读", reads)):
        metrics += [
            metric(
                f"{name}-scaling",
                (f"{name}: least aggregate(C) / best of fewer", f"{zh}:总吞吐比"),
                "ratio",
                "aggregate",
                scaling(ctx, groups, n),
            ),
            metric(
                f"{name}-share",
                (f"{name}: slowest client / mean of clients, least of any C", f"{zh}:最慢客户端占均值"),
                "ratio",
                "client",
                share(ctx, groups, n),
            ),
            metric(
                f"{name}-p99",
                (f"{name}: p99 with C clients / p99 with 1, largest of any C", f"{zh}:p99 之比"),
                "ratio",
                "client",
                tail(ctx, groups, n),
            ),
        ]
        series.append(throughput(ctx, name, "throughput by clients", "files/s", groups))
    metrics += [
        failed(ctx, [path for groups in (writes, reads) for paths in groups.values() for path in paths]),
        metric(
            "coherence",
            ("files that differ from what another client wrote", "跨客户端内容不一致的文件数"),
            "files",
            "aggregate",
            [ctx.sample("errors", {"clients": coherence})],
        ),
        metric(
            "verified",
            ("share of the files that were verified", "已校验比例"),
            "ratio",
            "aggregate",
            [ctx.sample("made_share", {"clients": coherence}, expected=float(expected))],
        ),
    ]
    return Outcome(
        method=f"filegen: C = {', '.join(map(str, at_once))} clients × {p['procs']} processes, files of {p['size']} B, "
        f"{p['repetitions']} windows of {p['duration_s']} s; 'no clear loss' is read as: aggregate(C) at least 0.9 of "
        "the best of fewer clients, no client below half of the mean, p99 at most three times that of one client, at "
        "each C; "
        "coherence: every client reads in full what every other wrote, and again after another overwrote it",
        metrics=metrics,
        series=series,
        remedy="Look at the slowest client's network and at MDS sessions (ceph tell mds.NAME session ls).",
    )


def _coherence(ctx: Context) -> tuple[list[str], int]:
    """Every client writes, every other verifies; one overwrites all, every other verifies again."""
    clients, n, size = ctx.target.clients, int(ctx.params["coherence_files"]), int(ctx.params["size"])
    folder = f"{ctx.work}/coherence"
    common: list[str | float] = ["--dir", folder, "--files", n, "--size", size, "--procs", 1]
    made = filegen(ctx, "create", {c: ["--client", c] for c in clients}, *common)
    checked: list[str] = [*made]
    per_writer = {c: counts(ctx, path) for c, path in zip(clients, made, strict=True)}
    expected = n * len(clients)
    for shift in range(1, len(clients)):
        pairs = {c: clients[(i + shift) % len(clients)] for i, c in enumerate(clients)}
        own = {c: ["--client", w, "--counts", per_writer[w], "--verify"] for c, w in pairs.items()}
        checked += filegen(ctx, "read", own, *common)
        expected += n * len(clients)
    # The second client overwrites the first one's files with other bytes; everyone must see those.
    newer: list[str | float] = ["--seed", ctx.seed + 1]
    checked += filegen(ctx, "rewrite", {clients[1]: ["--client", clients[0], *newer]}, *common)
    again = {c: ["--client", clients[0], "--verify", *newer] for c in clients if c != clients[1]}
    checked += filegen(ctx, "read", again, *common)
    return checked, expected + n * len(clients)
