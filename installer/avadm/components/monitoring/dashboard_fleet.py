"""Fleet: is everything well, and if not, where."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat, table

FULL = [(0.8, AMBER), (0.9, RED)]
ANY = [(1, RED)]

PANELS = [
    stat("Nodes up", 'count(up{job="node"} == 1) or vector(0)'),
    stat("Nodes down", 'count(up{job="node"} == 0) or vector(0)', steps=ANY),
    stat(
        "Ceph",
        "max(ceph_health_status)",
        names={"0": ("OK", "green"), "1": ("WARN", AMBER), "2": ("ERR", RED)},
        note="ceph health, as the active manager says.",
    ),
    stat("Storage used", "ceph:cluster_used:ratio", unit="percentunit", steps=[(0.75, AMBER), (0.85, RED)]),
    stat(
        "Critical alerts", 'count(ALERTS{alertstate="firing", severity="critical"}) or vector(0)', steps=ANY
    ),
    stat(
        "Warnings", 'count(ALERTS{alertstate="firing", severity="warning"}) or vector(0)', steps=[(1, AMBER)]
    ),
    stat("Targets down", 'count(up{job!="pods"} == 0) or vector(0)', steps=ANY),
    stat(
        "Alertmanagers in mesh", "min(alertmanager_cluster_members)", note="As the loneliest of them sees it."
    ),
    table(
        "Firing alerts",
        'ALERTS{alertstate="firing"}',
        width=16,
        note="The Watchdog always fires: it shows that alerts are evaluated.",
    ),
    bars("Nodes up by rack", 'count by (rack) (up{job="node"} == 1)', "{{rack}}"),
    bars(
        "Hottest: CPU", "topk(10, node:cpu_used:ratio)", "{{node}}", unit="percentunit", width=6, steps=FULL
    ),
    bars(
        "Hottest: memory",
        "topk(10, node:memory_used:ratio)",
        "{{node}}",
        unit="percentunit",
        width=6,
        steps=FULL,
    ),
    bars(
        "Hottest: fullest file system",
        "topk(10, max by (node) (node:filesystem_used:ratio))",
        "{{node}}",
        unit="percentunit",
        width=6,
        steps=FULL,
    ),
    bars(
        "Hottest: network",
        "topk(10, node:network_receive_bytes:rate + node:network_transmit_bytes:rate)",
        "{{node}}",
        unit="Bps",
        width=6,
    ),
    graph("CPU used, by rack", Query("avg by (rack) (node:cpu_used:ratio)", "{{rack}}"), unit="percentunit"),
    graph(
        "Memory used, by rack",
        Query("avg by (rack) (node:memory_used:ratio)", "{{rack}}"),
        unit="percentunit",
    ),
    graph(
        "Network, all nodes",
        Query("sum(node:network_receive_bytes:rate)", "in"),
        Query("sum(node:network_transmit_bytes:rate)", "out"),
        unit="Bps",
    ),
    graph(
        "Storage operations",
        Query("ceph:client_read_ops:rate", "read"),
        Query("ceph:client_write_ops:rate", "write"),
        unit="iops",
    ),
    graph(
        "Storage throughput",
        Query("ceph:client_read_bytes:rate", "read"),
        Query("ceph:client_write_bytes:rate", "write"),
        unit="Bps",
    ),
    graph(
        "Alerts over time",
        Query('count by (severity) (ALERTS{alertstate="firing"})', "{{severity}}"),
        stack=True,
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard("avadm-fleet", "Fleet", "All machines and the storage cluster at a glance.", PANELS)
