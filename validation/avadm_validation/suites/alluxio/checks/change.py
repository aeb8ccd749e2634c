"""A-AL-CHANGE: what was changed in an under store is seen as documented, and never half of each."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.targets import UnderStore
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.alluxio.cache import Cache

ID = "A-AL-CHANGE"
TITLE = ("cache: a change in the under store is seen", "缓存:底层存储变更可见")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """For cephfs and for a bucket: cache a file, replace it behind the cache's back, read until the new one is seen."""
    cache, p = Cache(ctx), ctx.params
    stores: dict[str, UnderStore] = {}
    for store in cache.target.stores:
        if cache.behind(store):
            stores.setdefault(store.name, store)
    if not stores:
        why = "no under store can be written to but through the cache: object stores of others have no client on the nodes"
        remedy = "Mount a folder of cephfs, or a bucket of the site's own object store, too."
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[why], remedy=remedy)
    size, limit = int(p["size"]), cache.target.sync_s + float(p["more_s"])
    longest = ctx.limit(limit + float(p["beyond_s"]))
    done = {name: _changed(cache, store, size, longest) for name, store in stores.items()}
    waits = {name: {"wait": [wait]} for name, (_, wait) in done.items()}
    firsts = [{"reads": [first]} for first, _ in done.values()]
    how = {"cephfs": "by rename", "s3": "by one request of boto3"}
    changed = ", ".join(f"{name} {how[name]} on {cache.behind(store)}" for name, store in stores.items())
    return Outcome(
        method=f"one file of {size} B in each kind of under store, read through the cache, then replaced there ({changed}); read "
        f"again each half second; documented: the interval of comparison ({cache.target.sync_s:g} s) and at most 10 s that the "
        "mount remembers names",
        metrics=[
            metric("late", ("seen / longest time that is documented", "可见延迟与文档上限之比"), "ratio", "client",
                   [ctx.sample("cache_late", w, limit_s=limit) for w in waits.values()]),
            *(metric(f"seen-{name}", (f"{name}: seen after", f"{name} 变更可见时间"), "s", "client",
                     [ctx.sample("cache_seen_s", w)]) for name, w in waits.items()),
            metric("mixed", ("reads that were neither the old nor the new file", "新旧混杂的读取次数"), "reads", "client",
                   [ctx.sample("cache_wait_wrong", w) for w in waits.values()]),
            metric("wrong", ("files with other bytes before the change", "变更前内容错误的文件数"), "files", "client",
                   [ctx.sample("cache_wrong", r) for r in firsts]),
            metric("unread", ("files that could not be read before the change", "变更前读取失败的文件数"), "files", "client",
                   [ctx.sample("cache_errors", r) for r in firsts]),
        ],
        remedy="components.alluxio.sync_interval_s; `avadm-alluxio fs loadMetadata -F PATH` compares at once.",
    )  # fmt: skip


def _changed(cache: Cache, store: UnderStore, size: int, for_s: float) -> tuple[str, str]:
    """Return the raw files of the read before the change, and of the reads until it was seen."""
    name = f"one-{store.name}"
    cache.ctx.step(f"{store.name}: change a file behind the cache", seconds=for_s)
    cache.replace(store, name, size, 1)
    first = cache.read(store, name, size, 1, version=1)
    cache.replace(store, name, size, 2)
    look = cache.tool("wait", cache.seen(store, name), size, 1, version="1,2", for_s=for_s)
    return first, cache.run(cache.reader, look, f"wait-{store.name}", timeout=for_s + 60)
