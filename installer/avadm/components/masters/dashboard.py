"""Kubernetes' control plane: API servers, etcd, scheduler and controllers."""

from avadm.components.grafana.panels import AMBER, RED, Query, dashboard, graph, stat

ANY = [(1, RED)]
QUEUES = "deployment|replicaset|job|endpoint|namespace|service|statefulset|daemonset|volumes|claims"
CLIENTS = 'job=~"kube-controller-manager|kube-scheduler"'
# What lasts by design is no measure of slowness.
SHORT = 'verb!~"WATCH|WATCHLIST|CONNECT|PROXY"'


def up(job: str) -> str:
    """Return the expression of how many of a job answer."""
    return f'count(up{{job="{job}"}} == 1) or vector(0)'


def p99(metric: str, by: str, where: str = "", window: str = "5m") -> str:
    """Return the 99th percentile of a histogram."""
    return f"histogram_quantile(0.99, sum by ({by}, le) (rate({metric}_bucket{{{where}}}[{window}])))"


PANELS = [
    stat("API servers", up("kube-apiserver"), steps=()),
    stat("etcd members", up("etcd")),
    stat("Schedulers", up("kube-scheduler")),
    stat("Controller-managers", up("kube-controller-manager")),
    stat("etcd without leader", "count(etcd_server_has_leader == 0) or vector(0)", steps=ANY),
    stat(
        "etcd leader changes, last day",
        "max(increase(etcd_server_leader_changes_seen_total[1d]))",
        steps=[(3, AMBER)],
    ),
    stat(
        "etcd filled",
        "max(etcd_mvcc_db_total_size_in_bytes / etcd_server_quota_backend_bytes)",
        unit="percentunit",
        steps=[(0.6, AMBER), (0.8, RED)],
    ),
    graph(
        "API: requests",
        Query("sum by (verb) (rate(apiserver_request_count[2m]))", "{{verb}}"),
        unit="reqps",
        stack=True,
    ),
    graph(
        "API: errors of the server",
        Query('sum by (code) (rate(apiserver_request_count{code=~"5.."}[2m])) or vector(0)', "{{code}}"),
        unit="reqps",
    ),
    graph(
        "API: time of a request, p99",
        Query(f"{p99('apiserver_request_latencies', 'verb', SHORT)} / 1e6", "{{verb}}"),
        unit="s",
        note="Watches and what passes through to pods are left out.",
    ),
    graph(
        "API: requests at work",
        Query("sum by (node, requestKind) (apiserver_current_inflight_requests)", "{{node}} {{requestKind}}"),
    ),
    graph("API: watches", Query("sum by (node) (apiserver_longrunning_gauge)", "{{node}}")),
    graph(
        "API: memory",
        Query(
            'process_resident_memory_bytes{job=~"kube-apiserver|kube-controller-manager|kube-scheduler|etcd"}',
            "{{job}} {{node}}",
        ),
        unit="bytes",
    ),
    graph(
        "etcd: time until a write is safe, p99",
        Query(p99("etcd_disk_wal_fsync_duration_seconds", "node"), "{{node}} log"),
        Query(p99("etcd_disk_backend_commit_duration_seconds", "node"), "{{node}} database"),
        unit="s",
    ),
    graph(
        "etcd: size",
        Query("etcd_mvcc_db_total_size_in_bytes", "{{node}} on disk"),
        Query("etcd_mvcc_db_total_size_in_use_in_bytes", "{{node}} in use"),
        unit="bytes",
    ),
    graph(
        "etcd: proposals",
        Query(
            "sum(rate(etcd_server_proposals_committed_total[2m])) / count(etcd_server_has_leader)",
            "committed",
        ),
        Query("max(etcd_server_proposals_pending)", "pending"),
        Query("sum(rate(etcd_server_proposals_failed_total[2m]))", "failed"),
        unit="ops",
    ),
    graph(
        "Scheduler: time to place a pod, p99",
        Query(f"{p99('scheduler_e2e_scheduling_latency_microseconds', 'node', '', '10m')} / 1e6", "{{node}}"),
        unit="s",
        note="Without pods to place there is nothing to show.",
    ),
    graph(
        "Controllers: work that waits",
        Query(
            f'sum by (__name__) ({{job="kube-controller-manager", __name__=~"({QUEUES})_depth"}})',
            "{{__name__}}",
        ),
    ),
    graph(
        "Requests of controllers and scheduler that failed",
        Query(
            f'sum by (job) (rate(rest_client_requests_total{{{CLIENTS}, code!~"2.."}}[5m])) or vector(0)',
            "{{job}}",
        ),
        unit="reqps",
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-control-plane",
        "Kubernetes: control plane",
        "API servers, etcd, scheduler and controllers.",
        PANELS,
    )
