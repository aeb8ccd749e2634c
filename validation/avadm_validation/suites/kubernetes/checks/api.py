"""K-API: how long requests to the API take."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-API"
TITLE = ("Kubernetes: latency of the API", "Kubernetes:API 延迟")
NEEDS = ""
KINDS = {
    "write": ("changes of one object, p99", "写请求 p99"),
    "get": ("reads of one object, p99", "读请求 p99"),
    "list": ("lists of a namespace's pods, p99", "列表请求 p99"),
}


def run(ctx: Context) -> Outcome:
    """Make, read, change, list and remove small objects over one connection for a while."""
    cluster, p = Cluster(ctx), ctx.params
    seconds, least, most = float(p["window_s"]), int(p["least"]), float(p["most_s"])
    ctx.step("requests to the API", seconds=seconds)
    tool = ctx.tool("kubeload.py", "api", namespace=o.SPACE, seconds=seconds, least=least, most=most)
    raw = cluster.run(tool, "requests", timeout=most + 120)

    def p99(kind: str) -> Metric:
        sample = ctx.sample("kube_requests", {"doc": [raw]}, kind=kind, q=0.99)
        return metric(f"{kind}-p99", KINDS[kind], "s", "cluster", [sample])

    return Outcome(
        method=f"{seconds:g} s (at most {most:g} s, until {least} requests are timed) of create, read, update, list and delete "
        f"of a ConfigMap of 1 KiB from {cluster.kube.master} with root's credentials over one connection, one request at a "
        "time; p99 by nearest rank",
        metrics=[
            *(p99(kind) for kind in KINDS),
            metric(
                "errors",
                ("requests that failed", "失败的请求"),
                "requests",
                "cluster",
                [ctx.sample("kube_count", {"doc": [raw]}, key="errors")],
            ),
            metric(
                "requests",
                ("requests that were timed", "计时的请求数"),
                "requests",
                "cluster",
                [ctx.sample("kube_request_count", {"doc": [raw]})],
            ),
        ],
        remedy="etcd's disk decides writes: etcd_disk_wal_fsync_duration_seconds in Prometheus; then load on the masters.",
    )
