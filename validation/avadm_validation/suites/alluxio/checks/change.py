"""A-AL-CHANGE: a file that was changed in the under store is seen as documented, and never half of each."""

from __future__ import annotations

from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.alluxio.cache import Cache
from avadm_validation.suites.storage.context import Context, Outcome
from avadm_validation.suites.storage.measure import metric

ID = "A-AL-CHANGE"
TITLE = ("cache: a change in the under store is seen", "缓存:底层存储变更可见")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Cache a file, replace it in the under store behind the cache's back, and read until the new one is seen."""
    cache, p = Cache(ctx), ctx.params
    store = next((s for s in cache.target.stores if s.folder), None)
    if store is None:
        why = "no under store can be written to but through the cache (object stores have no client on the nodes)"
        return Outcome(
            method="", verdict=Verdict.BLOCKED, reasons=[why], remedy="Mount a folder of cephfs too."
        )
    size = int(p["size"])
    cache.make(store, "one", size, 1, version=1)
    first = cache.read(store, "one", size, 1, version=1)
    writer = cache.writer(store)
    change = cache.tool("make", cache.folder(store, "one"), size, 1, version=2, rename=1)
    cache.run(writer, change, "change")
    limit = cache.target.sync_s + float(p["more_s"])
    look = cache.tool(
        "wait", cache.seen(store, "one"), size, 1, version="1,2", for_s=limit + float(p["beyond_s"])
    )
    wait = cache.run(cache.reader, look, "wait", timeout=limit + float(p["beyond_s"]) + 60)
    return Outcome(
        method=f"one file of {size} B, read through the cache, then replaced by rename on {writer}; read again each half second; "
        f"documented: the interval of comparison ({cache.target.sync_s:g} s) and at most 10 s that the mount remembers names",
        metrics=[
            metric("late", ("seen / longest time that is documented", "可见延迟与文档上限之比"), "ratio", "client",
                   [ctx.sample("cache_late", {"wait": [wait]}, limit_s=limit)]),
            metric("seen", ("seen after", "变更可见时间"), "s", "client", [ctx.sample("cache_seen_s", {"wait": [wait]})]),
            metric("mixed", ("reads that were neither the old nor the new file", "新旧混杂的读取次数"), "reads", "client",
                   [ctx.sample("cache_wait_wrong", {"wait": [wait]})]),
            metric("wrong", ("files with other bytes before the change", "变更前内容错误的文件数"), "files", "client",
                   [ctx.sample("cache_wrong", {"reads": [first]})]),
        ],
        remedy="components.alluxio.sync_interval_s; `avadm-alluxio fs loadMetadata -F PATH` compares at once.",
    )  # fmt: skip
