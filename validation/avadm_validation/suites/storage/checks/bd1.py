"""A-BD1: random 4 KiB requests per second on block images."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.rbd import fio_course, fio_samples, fio_windows
from avadm_validation.suites.storage.space import bench_clients

ID = "A-BD1"
TITLE = ("rbd: random requests per second", "rbd:随机读写 IOPS")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Random reads, then random writes, from every client on images of its own."""
    p, depth = ctx.params, int(ctx.params["iodepth"])
    paths = fio_windows(ctx, [("read", "randread"), ("write", "randwrite")], "4k", depth)
    read, write = (fio_samples(ctx, paths, mode, "iops") for mode in ("read", "write"))
    return Outcome(
        method=f"fio ioengine=rbd, 4 KiB, {len(bench_clients(ctx.target, p))} clients × {p['images_per_client']} image(s) of "
        f"{p['image_size']}, numjobs 1, iodepth {depth}; images written over before; {p['repetitions']} windows of "
        f"{p['duration_s']} s after {p['warmup_s']} s; librbd cache off, OSD caches warm",
        metrics=[
            metric("read", ("random read, 4 KiB", "4 KiB 随机读"), "requests/s", "aggregate", read),
            metric("write", ("random write, 4 KiB", "4 KiB 随机写"), "requests/s", "aggregate", write),
            metric(
                "read-p99",
                ("random read, 99th percentile", "随机读 p99"),
                "ms",
                "client",
                fio_samples(ctx, paths, "read", "p99"),
            ),
            metric(
                "write-p99",
                ("random write, 99th percentile", "随机写 p99"),
                "ms",
                "client",
                fio_samples(ctx, paths, "write", "p99"),
            ),
        ],
        series=[
            fio_course(ctx, "random requests over time", "read", "requests/s", read),
            fio_course(ctx, "random requests over time", "write", "requests/s", write),
        ],
        remedy="More images or iodepth until the OSDs' CPUs are busy; look for slow OSDs (ceph osd perf).",
    )
