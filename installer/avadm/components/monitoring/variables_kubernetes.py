"""What Prometheus scrapes of Kubernetes, and with which certificate (I10)."""

from __future__ import annotations

from dataclasses import dataclass

from avadm.components.addons.variables import REGISTRY_PORT
from avadm.components.masters.variables import api_url
from avadm.components.monitoring.variables import TargetGroup, group
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import PROMETHEUS, Authority, key_variable
from avadm.site.model import Site

CLIENTS = {"kubernetes": Authority.KUBERNETES, "etcd": Authority.ETCD}
"""Client of Prometheus to the authority that vouches for both ends."""
CERTIFICATES = {"kubernetes": "prometheus", "etcd": "prometheus-etcd"}

POD_TARGETS = "/var/lib/avadm-pod-targets/pods.json"
"""Where a Prometheus node keeps which pods ask to be scraped."""


@dataclass(frozen=True, slots=True)
class Job:
    """One scrape job.

    Attributes:
        roles: whose nodes are scraped.
        port: TCP port.
        client: which certificate is shown; "" for plain HTTP.
        path: where the metrics are.
        interval_s: seconds between scrapes; 0 for those of all other jobs.
    """

    roles: frozenset[str]
    port: int
    client: str = ""
    path: str = "/metrics"
    interval_s: int = 0


NODES = frozenset({"master", "worker"})
MASTERS = frozenset({"master"})
JOBS = {
    "etcd": Job(frozenset({"etcd"}), 2379, "etcd"),
    # Thousands of series each, most of them histograms of 1.9 by path and verb.
    "kube-apiserver": Job(MASTERS, 6443, "kubernetes", interval_s=30),
    # The ports at which later releases of both serve TLS themselves.
    "kube-controller-manager": Job(MASTERS, 10257, "kubernetes", interval_s=30),
    "kube-scheduler": Job(MASTERS, 10259, "kubernetes"),
    "kubelet": Job(NODES, 10250, "kubernetes"),
    # A page of some 1.5 MB, which is most of what an idle kubelet works for.
    "cadvisor": Job(NODES, 10250, "kubernetes", "/metrics/cadvisor", interval_s=30),
    "calico": Job(NODES, 9091),
    "coredns": Job(frozenset({"dns"}), 9153),
    "ingress": Job(frozenset({"ingress"}), 8082),
    "kube-state-metrics": Job(MASTERS, 8085),
    "calico-kube-controllers": Job(MASTERS, 9094, interval_s=60),
    "registry": Job(frozenset({"registry"}), REGISTRY_PORT + 1, interval_s=60),
}
PROXY_HEALTH = "http://{address}:10256/healthz"
"""What is probed of kube-proxy: 1.9 shows its metrics on 127.0.0.1 alone, and has no flag that says otherwise."""


def render(given: RenderContext, out: Variables) -> None:
    """Add Kubernetes' jobs to Prometheus' variables; nothing without masters, or with the site's own Prometheus."""
    site, store = given.site, given.store
    if not site.with_role("master") or site.components.monitoring.existing:
        return
    out.all["prometheus_targets"] = out.all["prometheus_targets"] | {
        name: found for name, job in JOBS.items() if (found := _targets(site, job))
    }
    out.all["prometheus_jobs"] = {
        name: {"client": job.client, "path": job.path, "interval_s": job.interval_s}
        for name, job in JOBS.items()
        if job.client or job.interval_s
    }
    if "probe" in out.all["prometheus_targets"]:
        out.all["prometheus_targets"]["probe"] += [
            group(
                PROXY_HEALTH.format(address=node.address),
                node,
                f"{node.name}/kube-proxy",
                probe="kube-proxy",
                __param_module="http_2xx",
            )
            for node in site.nodes
            if NODES & set(node.roles)
        ]
    out.all["prometheus_clients"] = {
        name: {
            "ca_certificate": store.trusted(authority),
            "certificate": store.leaf(CERTIFICATES[name]),
            "key": key_pem(key_variable(PROMETHEUS)),
        }
        for name, authority in CLIENTS.items()
    }
    out.all |= {
        "prometheus_pod_targets": POD_TARGETS,
        "prometheus_pods_file": POD_TARGETS,
        "prometheus_pods_server": api_url(site),
        "prometheus_pods_ca_certificate": store.trusted(Authority.KUBERNETES),
    }
    for node in site.with_role("prometheus"):
        out.host(node.name).update(
            prometheus_pods_certificate=store.leaf(f"pod-targets-{node.name}"),
            prometheus_pods_key=key_pem(key_variable(f"pod-targets-{node.name}")),
        )


def _targets(site: Site, job: Job) -> list[TargetGroup]:
    return [
        group(f"{node.address}:{job.port}", node, f"{node.name}:{job.port}")
        for node in site.nodes
        if job.roles & set(node.roles)
    ]
