"""A-FS2: bandwidth of cephfs with files of at least 1 MB; all clients together and one alone, each way."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.filemetrics import failed
from avadm_validation.suites.storage.measure import course, create, put_aside, read_others, samples

ID = "A-FS2"
TITLE = ("cephfs: bandwidth with files of 1 MB and more", "cephfs:1 MB 以上文件的带宽")
NEEDS = "cephfs"


def run(ctx: Context) -> Outcome:
    """Write (with fsync) and read large files, aggregate and single client."""
    clients, p = ctx.target.clients, ctx.params
    paths: dict[str, list[str]] = {}
    for who, nodes in (("aggregate", clients), ("client", clients[:1])):
        folder = f"{ctx.work}/{who}"
        try:
            paths[f"write-{who}"] = create(ctx, nodes, folder, "--fsync")
            paths[f"read-{who}"] = read_others(ctx, nodes, paths[f"write-{who}"], folder)
        finally:
            put_aside(ctx, clients, folder)
    who_zh = {"aggregate": "全部客户端", "client": "单客户端"}
    way_zh = {"write": "写", "read": "读"}
    metrics = [
        metric(
            f"{way}-{who}",
            (
                f"{way}, {'all clients' if who == 'aggregate' else 'one client'}",
                f"{who_zh[who]}{way_zh[way]}",
            ),
            "B/s",
            who,
            samples(ctx, "rate", paths[f"{way}-{who}"], count="bytes"),
        )
        for who in ("aggregate", "client")
        for way in ("write", "read")
    ]
    metrics.append(failed(ctx, [x for group in paths.values() for x in group]))
    mib = int(p["size"]) / 2**20
    return Outcome(
        method=f"filegen: files of {mib:g} MiB, {p['procs']} processes per client; write+fsync+close, then read by "
        f"another client than wrote; {p['repetitions']} windows of {p['duration_s']} s after {p['warmup_s']} s; "
        "aggregate and single client apart; client caches cold, OSD caches warm",
        metrics=metrics,
        series=[
            course(
                ctx,
                "bandwidth over time",
                f"{way}, all clients",
                paths[f"{way}-aggregate"],
                "MB/s",
                int(p["size"]) / 1e6,
            )
            for way in ("write", "read")
        ],
        remedy="Compare with the network baseline of the preconditions; look for slow OSDs (ceph osd perf).",
    )
