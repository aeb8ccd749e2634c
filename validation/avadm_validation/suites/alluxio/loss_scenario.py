"""What both checks of a loss do: read for a while, kill a part of the cache meanwhile, compare every byte."""

from __future__ import annotations

import json

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.alluxio.cache import Cache


def lost(ctx: Context, part: str) -> Outcome:
    """Kill a worker, or the leading master, as a crash does; systemd starts it again."""
    cache, p = Cache(ctx), ctx.params
    store = next((s for s in cache.target.stores if not s.read_only), None)
    if store is None:
        raise MeasureError("every under store is read-only: nothing can be made to be read")
    size, count = int(p["size"]), int(p["count"])
    # Another takes over by time-outs that a busy machine stretches, so it is looked as much longer.
    for_s = ctx.limit(p["for_s"])
    cache.make(store, {"lost": (size, count)})
    node = cache.holder() if part == "worker" else cache.leader()
    ctx.step(f"read while the {part} on {node} is killed", seconds=for_s)
    timer = cache.lose(node, f"avadm-alluxio-{part}", float(p["kill_s"]))
    try:
        limit = float(p["timeout_s"]) + 2 * for_s
        read = cache.read(store, "lost", size, count, limit, for_s=for_s, more_s=for_s)
    finally:
        timer.join()
    killed = ctx.rec.save("killed.json", json.dumps({"killed": len(cache.killed)}))
    reads = {"reads": [read]}
    return Outcome(
        method=f"{count} files of {size} B are read in turn for {for_s:.0f} s; avadm-alluxio-{part} on {node} gets SIGKILL "
        f"after {p['kill_s']} s; every byte is compared with what the file's name says it is; a failed read is tried again "
        "in the next round, at the end for as long again",
        metrics=[
            metric("wrong", ("files with other bytes than were written", "内容错误的文件数"), "files", "client",
                   [ctx.sample("cache_wrong", reads)]),
            metric("failed-at-end", ("files that cannot be read at the end", "结束时读取失败的文件数"), "files", "client",
                   [ctx.sample("cache_failed_at_end", reads)]),
            metric("gap", ("last failed read after the loss", "丢失后最后一次读取失败"), "s", "client",
                   [ctx.sample("cache_gap_s", reads, at_s=float(p["kill_s"]))]),
            metric("killed", ("parts that were killed", "已终止的部件数"), "parts", "cluster",
                   [ctx.sample("number", {"doc": [killed]}, path="killed")]),
        ],
        remedy=f"systemctl status avadm-alluxio-{part} on {node}; `avadm-alluxio fsadmin report`.",
    )  # fmt: skip
