"""The object store: who answers, how many requests and how fast, what users have of their quotas."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

# What the gateways' pools are called (site/object_pools.py).
POOLS = 'ceph_pool_metadata{name=~"[.]rgw[.].*|default[.]rgw[.].*"}'
QUOTA = [(0.75, AMBER), (0.9, RED)]


def by_gateway(metric: str, what: str = "rate({})", window: str = "[2m]") -> str:
    """Return a counter's rate, or with another ``what`` and no ``window`` a gauge, of each gateway by its name.

    From ceph 16 on the managers tell a gateway's counters under the number of its running process, which
    ``ceph_rgw_metadata`` gives a name; before under the name itself (mgr prometheus module of 16.2.15 and 14.2).
    """
    now, before = (what.format(f'{metric}{{instance_id{op}""}}{window}') for op in ("!=", "="))
    names = 'on (instance_id) group_left (ceph_daemon) ceph_rgw_metadata{instance_id!=""}'
    return f"sum by (ceph_daemon) ({now} * {names} or {before})"


def latency(metric: str) -> str:
    """Return the mean latency of each gateway in seconds; 0 where nothing was asked."""
    return f"{by_gateway(f'{metric}_sum')} / clamp_min({by_gateway(f'{metric}_count')}, 1e-9)"


def pool(expr: str) -> str:
    """Return what is known of the gateways' pools, with each pool's name."""
    return f"{expr} * on (pool_id) group_left (name) {POOLS}"


def of_quota(kind: str) -> str:
    """Return what users have in parts of what they may have; every rgw node tells it."""
    return f"max by (user) (avadm_objects_user_{kind} / avadm_objects_user_quota_{kind})"


PANELS = [
    stat(
        "The store answers",
        'max(probe_success{probe="objects-vip"}) or max(probe_success{probe="objects"})',
        names={"0": ("NO", RED), "1": ("yes", "green")},
        note="At the address that clients use, over TLS.",
    ),
    stat("Gateways that answer", 'sum(probe_success{probe="objects"})'),
    stat(
        "Gateways that do not",
        'count(probe_success{probe="objects"} == 0) or vector(0)',
        steps=[(1, RED)],
    ),
    stat("Requests a second", "sum(rate(ceph_rgw_req[5m]))", unit="reqps"),
    stat(
        "Refused or failed",
        "sum(rate(ceph_rgw_failed_req[5m])) / clamp_min(sum(rate(ceph_rgw_req[5m])), 1e-9)",
        unit="percentunit",
        note="Of all requests. Wrong keys, quotas and keys that are not there count too, so that some is no trouble.",
    ),
    stat("Bytes of all users", "sum(max by (user) (avadm_objects_user_bytes))", unit="bytes"),
    stat("Objects of all users", "sum(max by (user) (avadm_objects_user_objects))"),
    stat(
        "Users were counted",
        'time() - max(node_textfile_mtime_seconds{file=~".*avadm-objects-usage.prom"})',
        unit="s",
        steps=[(900, AMBER), (3600, RED)],
        note="So long ago, on any rgw node.",
    ),
    graph("Requests", Query(by_gateway("ceph_rgw_req"), "{{ceph_daemon}}"), unit="reqps"),
    graph(
        "Refused or failed requests",
        Query(by_gateway("ceph_rgw_failed_req"), "{{ceph_daemon}}"),
        unit="reqps",
    ),
    graph(
        "Requests in progress",
        Query(by_gateway("ceph_rgw_qlen", "{}", ""), "{{ceph_daemon}}"),
        note="Grows where the OSDs are slower than the clients.",
    ),
    graph(
        "Latency of reads", Query(latency("ceph_rgw_get_initial_lat"), "{{ceph_daemon}}"), unit="s", width=6
    ),
    graph(
        "Latency of writes", Query(latency("ceph_rgw_put_initial_lat"), "{{ceph_daemon}}"), unit="s", width=6
    ),
    graph("Read", Query(by_gateway("ceph_rgw_get_b"), "{{ceph_daemon}}"), unit="Bps", width=6),
    graph("Written", Query(by_gateway("ceph_rgw_put_b"), "{{ceph_daemon}}"), unit="Bps", width=6),
    graph(
        "Answer to a probe",
        Query('probe_duration_seconds{probe=~"objects|objects-vip"}', "{{instance}}"),
        unit="s",
        note="An empty list, for which the gateway asks the OSDs. A slow OSD makes all slow, a slow node one.",
    ),
    bars("Users: bytes of their quota", of_quota("bytes"), "{{user}}", unit="percentunit", steps=QUOTA),
    bars("Users: objects of their quota", of_quota("objects"), "{{user}}", unit="percentunit", steps=QUOTA),
    graph(
        "Bytes by user", Query("max by (user) (avadm_objects_user_bytes)", "{{user}}"), unit="bytes", width=12
    ),
    graph("Objects by user", Query("max by (user) (avadm_objects_user_objects)", "{{user}}"), width=12),
    graph(
        "Bytes by pool",
        Query(pool("(ceph_pool_stored or ceph_pool_bytes_used)"), "{{name}}"),
        unit="bytes",
    ),
    graph("Objects by pool", Query(pool("ceph_pool_objects"), "{{name}}")),
    graph(
        "Operations by pool",
        Query(pool("(rate(ceph_pool_rd[2m]) + rate(ceph_pool_wr[2m]))"), "{{name}}"),
        unit="iops",
        note="What the gateways ask of ceph; a list asks the pool index, a key user or bucket the pool meta.",
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-objects",
        "Object store",
        "Who answers, how fast, and what users have of their quotas.",
        PANELS,
    )
