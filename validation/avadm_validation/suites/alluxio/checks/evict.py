"""A-AL-EVICT: more is read than the cache holds: it evicts, stays within its capacity, and everything read is right."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.alluxio.cache import Cache

ID = "A-AL-EVICT"
TITLE = ("cache: eviction when it is full", "缓存:写满后的淘汰")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Read files of one and a half times the capacity, twice."""
    cache, p = Cache(ctx), ctx.params
    store = next((s for s in cache.target.stores if not s.read_only), None)
    if store is None:
        raise MeasureError("every under store is read-only: nothing can be made to be read")
    before = cache.workers("before")
    capacity = cache.capacity(before)
    size = int(p["size"])
    wanted = capacity * float(p["times"])
    if not wanted <= float(p["most_bytes"]):
        text = f"the workers hold {capacity:g} B: filling them takes more than the {p['most_bytes']:g} B of this effort"
        raise MeasureError(text)
    count = int(wanted / size) + 1
    ctx.step(f"fill the cache with {count} files")
    cache.make(store, {"fill": (size, count)})
    reads = [cache.read(store, "fill", size, count), cache.read(store, "fill", size, count)]
    after = cache.workers("after")
    inputs = {"before": before, "after": after}
    return Outcome(
        method=f"{count} files of {size} B, {p['times']} times what all workers hold, read twice; counters of the workers",
        metrics=[
            metric("evicted", ("blocks evicted, by workers' counters", "淘汰块数(计数器)"), "blocks", "cluster",
                   [ctx.sample("cache_grown", inputs, names="Worker_BlocksEvicted")]),
            metric("full", ("largest share of its capacity that a worker uses", "单个工作节点最大使用率"), "ratio", "cluster",
                   [ctx.sample("cache_over", {"after": after})]),
            metric("failed", ("files that could not be read", "读取失败的文件数"), "files", "client",
                   [ctx.sample("cache_errors", {"reads": reads})]),
            metric("wrong", ("files with other bytes than were written", "内容错误的文件数"), "files", "client",
                   [ctx.sample("cache_wrong", {"reads": reads})]),
        ],
        remedy="`avadm-alluxio fsadmin report capacity`; the journal of avadm-alluxio-worker.",
    )  # fmt: skip
