"""A-FS4: a million files in one directory of cephfs, made by several clients."""

from __future__ import annotations

import shlex

from avadm_validation.suites.storage.context import Context, Outcome
from avadm_validation.suites.storage.mds import active, daemon
from avadm_validation.suites.storage.measure import counts, course, metric, samples

ID = "A-FS4"
TITLE = ("cephfs: files in one directory", "cephfs:单目录文件数")
NEEDS = "cephfs"


def run(ctx: Context) -> Outcome:
    """Create n files in one directory from all clients, count, stat at random, look at fragments, remove."""
    clients, p = ctx.target.clients, ctx.params
    procs, folder = int(p["procs"]), ctx.work
    each = -(-int(p["files"]) // (len(clients) * procs))
    total = each * len(clients) * procs
    base: list[str | float] = [
        "--dir",
        folder,
        "--layout",
        "shared",
        "--procs",
        procs,
        "--size",
        int(p["size"]),
    ]
    own = {c: ["--client", c] for c in clients}
    made: list[str] = []
    try:
        made = ctx.filegen("create", own, *base, "--files", each)
        counted = ctx.everywhere(
            {clients[-1]: ctx.tool("filegen.py", "count", "--dir", f"{folder}/r0", "--client", clients[-1])},
            "count",
            timeout=3600,
        )
        others = {
            reader: ["--client", writer, "--counts", counts(ctx, path)]
            for reader, writer, path in zip([*clients[1:], clients[0]], clients, made, strict=True)
        }
        stats = ctx.filegen("stat", others, *base, "--files", int(p["stats"]))
        inside = f"/{ctx.name}/{ctx.rec.check}/r0"
        node, name = active(ctx)
        daemon(ctx, node, name, f"dirfrag ls {shlex.quote(inside)}", "dirfrag-ls")
        fragments = ctx.rec.last(node)
    finally:
        _remove(ctx, made, base)
    sampled = int(p["files"]) < 1_000_000
    return Outcome(
        method=f"filegen: {total:,} files of {p['size']} B in one directory, {len(clients)} clients × {procs} processes at "
        f"once; readdir by {clients[-1]}; {int(p['stats']) * procs * len(clients):,} random stats by other clients than "
        "wrote; fragments by the MDS's admin socket",
        metrics=[
            metric(
                "made",
                ("files created", "创建文件数"),
                "files",
                "aggregate",
                [ctx.sample("made", {"clients": made})],
            ),
            metric(
                "errors",
                ("failed operations", "失败操作数"),
                "operations",
                "aggregate",
                [ctx.sample("errors", {"clients": [*made, *stats]})],
            ),
            metric(
                "missing",
                ("created files that readdir does not show", "readdir 缺失的文件数"),
                "files",
                "cluster",
                [ctx.sample("missing", {"clients": made, "doc": counted})],
            ),
            metric(
                "stat-p99",
                ("random stat, 99th percentile", "随机 stat p99"),
                "ms",
                "client",
                [ctx.sample("latency", {"clients": stats}, q=0.99)],
            ),
            metric(
                "fragments",
                ("fragments of the directory", "目录分片数"),
                "fragments",
                "cluster",
                [ctx.sample("length", {"doc": [fragments]})],
            ),
            metric(
                "create",
                ("creates per second in the one directory", "单目录创建速率"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", made),
            ),
            metric(
                "readdir",
                ("time of one whole readdir", "完整 readdir 耗时"),
                "s",
                "client",
                [ctx.sample("number", {"doc": counted}, path="seconds")],
            ),
        ],
        series=[course(ctx, "creates in one directory over time", "create", made, "files/s")],
        reasons=[f"sampled: {total:,} of 1,000,000 files; effort full creates them all"] if sampled else [],
        remedy="Fragments: mds_bal_split_size and mds_bal_fragment_size_max; errors: the MDS log.",
    )


def _remove(ctx: Context, made: list[str], base: list[str | float]) -> None:
    """Let each client unlink the files that it made; the directory itself goes with the rest."""
    own = {
        c: ["--client", c, "--counts", counts(ctx, path)]
        for c, path in zip(ctx.target.clients, made, strict=False)
    }
    if own:
        ctx.filegen("unlink", own, *base)
    ctx.rec.run(ctx.target.clients[0], f"rm -rf {shlex.quote(ctx.work)}", "clean", timeout=3600)
