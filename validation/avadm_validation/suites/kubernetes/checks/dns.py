"""K-DNS: pods resolve names of the cluster and the site, and get NXDOMAIN for names that do not exist."""

from __future__ import annotations

import time

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Sample
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-DNS"
TITLE = ("Kubernetes: names resolve in pods", "Kubernetes:容器组内域名解析")
NEEDS = ""
NXDOMAIN = 3


def run(ctx: Context) -> Outcome:
    """Let each node's pod ask its DNS server for names of each kind."""
    cluster = Cluster(ctx)
    up, kube = cluster.echo(), cluster.kube
    zone = f"{o.SPACE}.svc.{kube.cluster_domain}"
    node = kube.nodes[-1]
    wanted = {
        "cluster": (f"echo.{zone}", 0, cluster.address("echo")),
        "headless": (f"heads.{zone}", 0, "pods"),
        "site": (f"{node}.{kube.domain}", 0, kube.addresses[node]),
        "absent": (f"no-such-name.{zone}", NXDOMAIN, ""),
        "absent-site": (f"no-such-name.{kube.domain}", NXDOMAIN, ""),
    }
    ctx.step("each pod resolves names", len(wanted))
    job = {"names": [name for name, _, _ in wanted.values()], "timeout": 3}

    def sample(key: str) -> Sample:
        name, rcode, addresses = wanted[key]
        return ctx.sample("kube_resolves", inputs, name=name, rcode=rcode, addresses=addresses)

    # Each DNS server hears of new pods by a watch of its own, a busy machine's later.
    end = time.monotonic() + ctx.limit(ctx.params["settle_s"])
    while True:
        answers = cluster.inside([pod for pod, _ in up.values()], "names", "resolve", job)
        inputs = {"wanted": [cluster.wanted], "pods": [cluster.pods()], "answers": [answers]}
        if sample("headless").value == 1 or time.monotonic() >= end:
            break
        time.sleep(1.0)
    titles = {
        "cluster": ("nodes whose pod resolves a service's name", "可解析服务名的节点比例"),
        "headless": ("nodes whose pod gets all addresses of a headless service", "可解析无头服务的节点比例"),
        "site": ("nodes whose pod resolves a site node's name", "可解析站点节点名的节点比例"),
        "absent": (
            "nodes whose pod gets NXDOMAIN for an unknown cluster name",
            "集群内不存在的域名返回 NXDOMAIN",
        ),
        "absent-site": (
            "nodes whose pod gets NXDOMAIN for an unknown site name",
            "站点内不存在的域名返回 NXDOMAIN",
        ),
    }

    return Outcome(
        method="A records asked by UDP of the server in each pod's resolv.conf, sent twice at most: "
        + ", ".join(name for name, _, _ in wanted.values())
        + f"; for {ctx.params['settle_s']} s (longer on a busy machine) until they know all pods of the headless service",
        metrics=[metric(key, titles[key], "ratio", "cluster", [sample(key)]) for key in wanted],
        remedy="On the nodes with the role dns: systemctl status coredns; from a node: dig @SERVICE-ADDRESS NAME.",
    )
