"""A-BD2: bandwidth of block images with 4 MiB requests."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.rbd import fio_course, fio_samples, fio_windows
from avadm_validation.suites.storage.space import bench_clients

ID = "A-BD2"
TITLE = ("rbd: bandwidth", "rbd:带宽")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Sequential reads, then sequential writes, from every client on images of its own."""
    p, depth = ctx.params, int(ctx.params["iodepth"])
    paths = fio_windows(ctx, [("read", "read"), ("write", "write")], "4M", depth)
    read, write = (fio_samples(ctx, paths, mode, "bw_bytes") for mode in ("read", "write"))
    return Outcome(
        method=f"fio ioengine=rbd, 4 MiB, {len(bench_clients(ctx.target, p))} clients × {p['images_per_client']} image(s) of "
        f"{p['image_size']}, numjobs 1, iodepth {depth}; images written over before; {p['repetitions']} windows of "
        f"{p['duration_s']} s after {p['warmup_s']} s; librbd cache off, OSD caches warm",
        metrics=[
            metric("read", ("sequential read, 4 MiB", "4 MiB 顺序读"), "B/s", "aggregate", read),
            metric("write", ("sequential write, 4 MiB", "4 MiB 顺序写"), "B/s", "aggregate", write),
        ],
        series=[
            fio_course(ctx, "image bandwidth over time", "read", "MB/s", read, 1e-6),
            fio_course(ctx, "image bandwidth over time", "write", "MB/s", write, 1e-6),
        ],
        remedy="Compare with the network baseline of the preconditions; look for slow OSDs (ceph osd perf).",
    )
