"""Ceph: health, room, what clients get, and which daemon is slow."""

from avadm.components.grafana.panels import AMBER, RED, Panel, Query, bars, dashboard, graph, stat

FULL = [(0.75, AMBER), (0.85, RED)]


def latency(metric: str, by: str) -> str:
    """Return the expression of a counter pair's mean latency in seconds; 0 where nothing was asked."""
    asked = f"sum by ({by}) (rate({metric}_count[2m]))"
    return f"sum by ({by}) (rate({metric}_sum[2m])) / clamp_min({asked}, 1e-9)"


def pool(metric: str) -> str:
    """Return the rate of a pool's counter, with the pool's name."""
    return f"rate({metric}[2m]) * on (pool_id) group_left (name) ceph_pool_metadata"


PANELS: list[Panel] = [
    stat(
        "Health",
        "max(ceph_health_status)",
        names={"0": ("OK", "green"), "1": ("WARN", AMBER), "2": ("ERR", RED)},
    ),
    stat("Monitors in quorum", "sum(ceph_mon_quorum_status)"),
    stat("OSDs up", "sum(ceph_osd_up)"),
    stat("OSDs down", "count(ceph_osd_up == 0) or vector(0)", steps=[(1, RED)]),
    stat("OSDs out", "count(ceph_osd_in == 0) or vector(0)", steps=[(1, AMBER)]),
    stat("PGs not active", "sum(ceph_pg_total) - sum(ceph_pg_active)", steps=[(1, RED)]),
    stat("PGs degraded", "sum(ceph_pg_degraded)", steps=[(1, AMBER)]),
    stat("Slow operations", "sum(ceph_healthcheck_slow_ops) or vector(0)", steps=[(1, RED)]),
    stat("Used", "ceph:cluster_used:ratio", unit="percentunit", steps=FULL, width=4, height=8),
    graph(
        "Capacity",
        Query("ceph_cluster_total_used_bytes", "used"),
        Query("ceph_cluster_total_bytes", "total"),
        unit="bytes",
        width=10,
    ),
    bars(
        "Pools: used of what they can hold",
        "ceph:pool_used:ratio * on (pool_id) group_left (name) ceph_pool_metadata",
        "{{name}}",
        unit="percentunit",
        width=5,
        steps=FULL,
    ),
    bars(
        "OSDs: fullest",
        "topk(10, ceph:osd_used:ratio)",
        "{{ceph_daemon}}",
        unit="percentunit",
        width=5,
        steps=FULL,
    ),
    graph(
        "Client operations",
        Query("ceph:client_read_ops:rate", "read"),
        Query("ceph:client_write_ops:rate", "write"),
        unit="iops",
    ),
    graph(
        "Client throughput",
        Query("ceph:client_read_bytes:rate", "read"),
        Query("ceph:client_write_bytes:rate", "write"),
        unit="Bps",
    ),
    graph(
        "OSD operation latency, mean of all",
        Query(latency("ceph_osd_op_r_latency", "instance"), "read"),
        Query(latency("ceph_osd_op_w_latency", "instance"), "write"),
        unit="s",
        note="As the OSDs see it; the clients' network comes on top. With ceph 18 the managers serve"
        " these counters only if mgr/prometheus/exclude_perf_counters is false.",
    ),
    graph("Operations by pool: read", Query(pool("ceph_pool_rd"), "{{name}}"), unit="iops", width=12),
    graph("Operations by pool: write", Query(pool("ceph_pool_wr"), "{{name}}"), unit="iops", width=12),
    graph("OSD commit latency", Query("ceph_osd_commit_latency_ms", "{{ceph_daemon}}"), unit="ms", width=12),
    graph("OSD apply latency", Query("ceph_osd_apply_latency_ms", "{{ceph_daemon}}"), unit="ms", width=12),
    graph(
        "Placement groups",
        Query("sum(ceph_pg_total)", "all"),
        Query("sum(ceph_pg_active)", "active"),
        Query("sum(ceph_pg_clean)", "clean"),
        Query("sum(ceph_pg_degraded)", "degraded"),
        Query("sum(ceph_pg_undersized)", "undersized"),
        Query("sum(ceph_pg_remapped)", "remapped"),
    ),
    graph("Recovery", Query("sum(rate(ceph_osd_recovery_ops[2m]))", "operations"), unit="ops"),
    graph("Objects", Query("sum(ceph_pool_objects)", "objects")),
    graph("MDS requests", Query("rate(ceph_mds_request[2m])", "{{ceph_daemon}}"), unit="reqps", width=6),
    graph(
        "MDS reply latency",
        Query(latency("ceph_mds_reply_latency", "ceph_daemon"), "{{ceph_daemon}}"),
        unit="s",
        width=6,
    ),
    graph("MDS clients", Query("ceph_mds_sessions_session_count", "{{ceph_daemon}}"), width=6),
    graph("MDS inodes in cache", Query("ceph_mds_inodes", "{{ceph_daemon}}"), width=6),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-ceph", "Ceph", "Health, room, what clients get, and which daemon is slow.", PANELS
    )
