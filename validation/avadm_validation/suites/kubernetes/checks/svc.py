"""K-SVC: a service's address answers from every node's pod, by all its endpoints, and its name leads there."""

from __future__ import annotations

import math

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-SVC"
TITLE = ("Kubernetes: services answer by all endpoints", "Kubernetes:服务由全部端点应答")
NEEDS = ""


def times(endpoints: int) -> int:
    """Return how many connections see every one of some equally likely endpoints, but for one case in 10⁵."""
    return math.ceil(endpoints * (math.log(max(endpoints, 1)) + math.log(1e5)))


def run(ctx: Context) -> Outcome:
    """Let each node's pod ask the service, each time over a connection of its own."""
    cluster = Cluster(ctx)
    up = cluster.echo()
    address = cluster.address("echo")
    url, many = f"http://{address}/", times(len(up))
    named = f"http://echo.{o.SPACE}.svc.{cluster.kube.cluster_domain}/"
    job = {"requests": [{"url": url, "times": many}, {"url": named}], "timeout": 5, "threads": 4}
    ctx.step("each pod asks the service", many)
    answers = cluster.inside([pod for pod, _ in up.values()], "service", "ask", job)
    inputs = {"wanted": [cluster.wanted], "pods": [cluster.pods()], "answers": [answers]}
    share = "ratio"
    return Outcome(
        method=f"from a pod on each node {many} connections to the service's address {address}, and one to its name; "
        f"{len(up)} endpoints: if one got its fair share and were not seen, that would be chance once in 100,000",
        metrics=[
            metric(
                "answered",
                ("nodes whose every request to the address was answered", "全部请求得到应答的节点比例"),
                share,
                "cluster",
                [ctx.sample("kube_reached", inputs, url=url)],
            ),
            metric(
                "endpoints",
                ("endpoints that answered, on the worst node", "最差节点上应答的端点比例"),
                share,
                "cluster",
                [ctx.sample("kube_endpoints", inputs, url=url)],
            ),
            metric(
                "by-name",
                ("nodes from which the service's name leads to it", "可按名称访问服务的节点比例"),
                share,
                "cluster",
                [ctx.sample("kube_reached", inputs, url=named)],
            ),
        ],
        remedy=f"kubectl get endpoints -n {o.SPACE} echo; on the node: iptables-save -t nat, journalctl -u kube-proxy.",
    )
