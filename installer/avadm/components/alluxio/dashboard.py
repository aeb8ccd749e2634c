"""The cache (Alluxio): how full it is, how much of what is read it serves, and what it evicts."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

N = 'node=~"$node"'
HITS = f"sum(rate(Worker_BlocksReadLocal{{{N}}}[5m]))"
MISSES = f"sum(rate(Worker_BlocksReadUfs{{{N}}}[5m]))"

PANELS = [
    stat("Workers", "max(Cluster_Workers)", width=4),
    stat("Lost workers", "max(Cluster_LostWorkers)", width=4, steps=[(1, RED)]),
    stat("Masters that answer", 'sum(up{job="alluxio-master"})', width=4),
    stat("Capacity", f"sum(Worker_CapacityTotal{{{N}}})", unit="bytes", width=4),
    stat(
        "Full",
        f"sum(Worker_CapacityUsed{{{N}}}) / sum(Worker_CapacityTotal{{{N}}})",
        unit="percentunit",
        width=4,
        steps=[(0.95, AMBER)],
        note="A full cache is no trouble by itself: it evicts what was not read for longest.",
    ),
    stat("Evicted in an hour", f"sum(increase(Worker_BlocksEvicted{{{N}}}[1h]))", width=4),
    graph(
        "Blocks read",
        Query(HITS, "from the cache"),
        Query(MISSES, "from the under store"),
        unit="ops",
        width=12,
        note="Reads that a client makes from a worker of its own node without asking it are not counted for each request.",
    ),
    graph(
        "Bytes read from workers",
        Query(f"rate(Worker_BytesReadRemote{{{N}}}[5m])", "{{node}} over the network"),
        Query(f"rate(Worker_BytesReadCache{{{N}}}[5m])", "{{node}} of these from its tiers"),
        unit="Bps",
        width=12,
    ),
    bars(
        "Used by worker",
        f"Worker_CapacityUsed{{{N}}} / Worker_CapacityTotal{{{N}}}",
        "{{node}}",
        unit="percentunit",
    ),
    graph("Evicted", Query(f"rate(Worker_BlocksEvicted{{{N}}}[5m])", "{{node}}"), unit="ops"),
    graph(
        "Not cached, though it should be",
        Query(f"rate(Worker_CacheFailedBlocks{{{N}}}[5m])", "{{node}}"),
        unit="ops",
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-cache", "Cache", "What the cache holds, serves and evicts.", PANELS, variables=["node"]
    )
