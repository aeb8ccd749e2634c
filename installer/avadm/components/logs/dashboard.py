"""Logs: how many errors, of whom, since when; and whether every line arrives."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

# Each store tells what it has; the greater counts.
RATE = "max by (host, component) (rate(avadm_log_lines_total{severity=~'%s', host=~\"$node\"}[10m]))"
ERRORS = RATE % "error|fatal"

PANELS = [
    stat("Stores that answer", "sum(avadm_log_store_up)", width=4),
    stat("Shippers that run", "sum(avadm_log_shipper_up)", width=4),
    stat(
        "Lines that wait",
        "sum(avadm_log_shipper_waiting)",
        width=4,
        steps=[(10000, AMBER), (100000, RED)],
        note="On the nodes' disks, for stores that do not answer.",
    ),
    stat(
        "Lines lost for a store",
        "sum(increase(avadm_log_shipper_dropped_total[1h]))",
        width=4,
        steps=[(1, RED)],
    ),
    stat(
        "New error patterns",
        "max(avadm_log_new_patterns)",
        width=4,
        steps=[(1, AMBER)],
        note="Of the last hour.",
    ),
    stat("Taken by the lines", "max(avadm_log_store_data_bytes)", unit="bytes", width=4),
    graph("Errors a second", Query(f"topk(10, {ERRORS}) or vector(0)", "{{host}} {{component}}"), width=12),
    graph(
        "Warnings a second",
        Query(f"topk(10, {RATE % 'warning'}) or vector(0)", "{{host}} {{component}}"),
        width=12,
    ),
    bars(
        "Known troubles, five minutes",
        "max by (id, host) (avadm_log_trouble_lines) or vector(0)",
        "{{id}} {{host}}",
    ),
    graph(
        "Lines a second",
        Query("sum by (store) (rate(avadm_log_shipper_sent_total[5m]))", "{{store}}"),
        width=8,
    ),
    graph("Free space of the stores", Query("avadm_log_store_free_bytes", "{{node}}"), unit="bytes", width=8),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-logs",
        "Logs",
        "Errors of nodes and components, and their way here.",
        PANELS,
        variables=["node"],
    )
