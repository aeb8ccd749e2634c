"""A-AL-PRE: a master leads, it knows every worker, and every client has the cache mounted."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.alluxio.cache import Cache

ID = "A-AL-PRE"
TITLE = ("cache: what the other checks need", "缓存:前提条件")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Ask masters and clients."""
    cache, t = Cache(ctx), Cache(ctx).target
    pages = cache.pages(t.masters, t.master_port, "masters")
    ctx.rec.map(dict.fromkeys(t.clients, "cat /proc/mounts"), "mounts")
    mounts = [ctx.rec.last(c) for c in t.clients]
    missing = ctx.sample("cache_workers", {"masters": pages})
    unmounted = ctx.sample("cache_unmounted", {"mounts": mounts}, path=t.mount, clients=len(t.clients))
    return Outcome(
        method="metrics of the masters, /proc/mounts of the clients (an ordinary folder takes what is written to it)",
        metrics=[
            metric(
                "workers",
                ("workers that the leading master knows", "主节点已知的工作节点数"),
                "workers",
                "cluster",
                [missing],
            ),
            metric(
                "unmounted",
                ("clients without the mount", "未挂载缓存的客户端数"),
                "clients",
                "cluster",
                [unmounted],
            ),
        ],
        remedy="`avadm-alluxio fsadmin report` on a master; systemctl status 'avadm-alluxio-*' on the nodes.",
    )
