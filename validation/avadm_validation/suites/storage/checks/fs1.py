"""A-FS1: small files on cephfs: 10 KB created, and opened cold, per second."""

from __future__ import annotations

import shlex

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.filemetrics import failed
from avadm_validation.suites.storage.measure import course, create, put_aside, read_others, samples

ID = "A-FS1"
TITLE = ("cephfs: requests per second with files of 10 KB", "cephfs:10 KB 小文件每秒请求数")
NEEDS = "cephfs"


def run(ctx: Context) -> Outcome:
    """Create and read files from every client; fio's random requests and fsync as cross-checks."""
    clients, p = ctx.target.clients, ctx.params
    try:
        made = create(ctx, clients, ctx.work, share=0.8)
        read = read_others(ctx, clients, made, ctx.work)
        synced = create(ctx, clients, f"{ctx.work}/fsync", "--fsync", repeat=1, share=0.2)
        cross = _fio(ctx)
    finally:
        put_aside(ctx, clients, ctx.work)
    return Outcome(
        method=f"filegen: {len(clients)} clients × {p['procs']} processes, files of {p['size']} B; create+write+close "
        f"(no fsync), then open+read+close by another client than wrote; {p['repetitions']} windows of "
        f"{p['duration_s']} s after {p['warmup_s']} s; client caches cold, OSD and MDS caches warm",
        metrics=[
            metric(
                "create",
                ("create + write + close", "创建+写+关闭"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", made),
            ),
            metric(
                "read",
                ("cold open + read + close", "冷打开+读+关闭"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", read),
            ),
            failed(ctx, [*made, *read, *synced]),
            metric(
                "create-p99",
                ("create, 99th percentile", "创建 p99 延迟"),
                "ms",
                "client",
                samples(ctx, "latency", made, q=0.99),
            ),
            metric(
                "read-p99",
                ("read, 99th percentile", "读 p99 延迟"),
                "ms",
                "client",
                samples(ctx, "latency", read, q=0.99),
            ),
            metric(
                "create-fsync",
                ("create + write + fsync + close", "创建+写+fsync+关闭"),
                "files/s",
                "aggregate",
                samples(ctx, "rate", synced),
            ),
            *cross,
        ],
        series=[
            course(ctx, "small files over time", "create", made, "files/s"),
            course(ctx, "small files over time", "cold read", read, "files/s"),
        ],
        remedy="Look at MDS load (ceph daemonperf mds.NAME), add active MDS ranks and pin directories to them.",
    )


def _fio(ctx: Context) -> list:  # type: ignore[type-arg]
    """Return fio's rate of random 10 KB requests on one file per client: the other reading of "IOPS"."""
    seconds = float(ctx.params["fio_s"])
    if not seconds:
        return []
    size = str(ctx.params["fio_size"])
    commands = {}
    for client in ctx.target.clients:
        base = (
            f"{ctx.noted} fio --directory={shlex.quote(ctx.work)} --filename=fio.{client} --size={size} --bs=10k --direct=1 "
            f"--ioengine=psync --thread --numjobs={ctx.params['fio_jobs']} --group_reporting --randrepeat=1 "
            f"--output-format=json --time_based --runtime={seconds:g}"
        )
        commands[client] = f"{base} --name=randrw --rw=randrw --rwmixread=50"
    ctx.step("fio 10 KB random requests", 1, seconds)
    paths = ctx.everywhere(commands, "fio", timeout=seconds + 300)
    return [
        metric(
            f"fio-{side}",
            (f"fio 10 KB random {side} requests (half of a mix)", f"fio 10 KB 随机{zh}(混合各半)"),
            "requests/s",
            "aggregate",
            [ctx.sample("fio", {"clients": paths}, job="randrw", side=side, field="iops")],
        )
        for side, zh in (("read", "读"), ("write", "写"))
    ]
