"""Which parts of the probe a node is asked for, by its roles, and what they need to be told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from avadm.doctor import places
from avadm.doctor.model import SiteFacts, SiteNode
from avadm.render.kube_nodes import DNS_OFFSET
from avadm.risks.register import least_packages, rules
from avadm.site import cache
from avadm.site.model import Node, Site
from avadm.site.object_pools import gateways
from avadm.sitefile.load import SiteFile

KUBE = ("master", "worker")
CEPH = ("mon", "mgr", "osd", "mds", "client", "rgw")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the probe.

    Attributes:
        name: function of that name in the probe's files.
        roles: nodes with one of these roles are asked; every node where empty.
        seconds: after which it is given up.
        witnesses: how many of those nodes are asked, where all would say the same; 0 for all.
    """

    name: str
    roles: tuple[str, ...] = ()
    seconds: int = 40
    witnesses: int = 0


PARTS = (
    Part("units"),
    Part("mounts"),
    Part("memory"),
    Part("addresses"),
    Part("kernel"),
    Part("private_mounts"),
    Part("certificates"),
    Part("journal"),
    Part("ceph_programs", CEPH),
    Part("ceph", ("mon",), witnesses=2),
    Part("mds", ("mds",)),
    Part("cephfs", ("client",)),
    Part("etcd", ("etcd",)),
    Part("etcd_peers", ("etcd",)),
    Part("servers", ("master",)),
    Part("haproxy", ("master",)),
    Part("kubernetes", ("master",), witnesses=2),
    Part("admission", ("master",), witnesses=2),
    Part("calico_pool", ("master",), witnesses=2),
    Part("calico", KUBE),
    Part("cni", KUBE),
    Part("containers", KUBE),
    Part("defences", KUBE),
    Part("dns", ("dns", "worker")),
    Part("gpu", ("gpu",)),
    Part("prometheus", ("prometheus",)),
    Part("objects", (places.GATEWAY,), seconds=50),
    Part("cache_master", (places.CACHE_MASTER,)),
    Part("cache_worker", (places.CACHE_WORKER,)),
    Part("cache_mount", (places.CACHE_CLIENT,)),
    Part("log_store", (places.LOG_STORE,)),
    Part("log_shipper", (places.LOG_SHIPPER,)),
    Part("ports"),
)
"""A new kind of question: one line here and a function of that name in one of the files *_probe.py."""

CERTIFICATES = (
    "/etc/avadm/*/*.crt",
    "/etc/calico/pki/*.crt",
    "/etc/coredns/*.crt",
    "/etc/docker-registry/*.crt",
    "/etc/docker/certs.d/*/client.cert",
    "/etc/etcd/pki/*.crt",
    "/etc/haproxy/*.crt",
    "/etc/haproxy/*.pem",
    "/etc/kube-state-metrics/*.crt",
    "/etc/kubernetes/pki/*.crt",
    "/etc/prometheus/tls/*.crt",
    "/etc/traefik/*.crt",
    "/root/.kube/config",
)
"""As the role node_exporter watches them (node_exporter_certificates)."""

ROLE_PORTS: dict[str, tuple[int, ...]] = {
    "alertmanager": (9093,),
    "alluxio_master": (cache.MASTER_PORT, cache.MASTER_WEB_PORT),
    "alluxio_worker": (cache.WORKER_PORT, cache.WORKER_WEB_PORT),
    "dns": (53,),
    "etcd": (2379, 2380),
    "grafana": (3000,),
    "ingress": (80, 443),
    "master": (6443, 10261),
    "prometheus": (9090,),
    "registry": (5000, 5002),
}
"""Role to the TCP ports on which something must listen; a new component: one line."""

WINDOW_MINUTES = 15
"""How far back the journal and events are searched."""


def site_facts(site_file: SiteFile) -> SiteFacts:
    """Return what checks need of a site file."""
    site, knobs = site_file.site, site_file.site.components
    held = {}
    if site.network.api_vip and site.with_role("master"):
        held[str(site.network.api_vip)] = "master"
    if site.network.ingress_vip and site.with_role("master"):
        held[str(site.network.ingress_vip)] = "ingress"
    if gateways(site) and knobs.object_store and knobs.object_store.vip:
        held[str(knobs.object_store.vip)] = "rgw"
    placed = places.given(site)
    nodes = tuple(
        SiteNode(
            name=n.name,
            address=str(n.address),
            roles=(*n.roles, *placed.get(n.name, ())),
            devices=len(n.devices),
            gpus=n.gpus.count if n.gpus else 0,
            ports=_named_ports(site, n),
        )
        for n in site.nodes
    )
    filesystem = knobs.ceph.filesystem
    return SiteFacts(
        name=site.name,
        nodes=nodes,
        versions=dict(site_file.profile.versions),
        addresses=held,
        pods=str(site.network.pods),
        mount=filesystem.mount if filesystem else "",
        disk_percent=knobs.kubernetes.eviction.disk_percent,
        snapshot_minutes=knobs.kubernetes.etcd.snapshot_minutes,
        max_skew_ms=site.time.max_skew_ms,
    )


def _named_ports(site: Site, node: Node) -> tuple[int, ...]:
    """Return the ports of parts that have theirs in the site file: gateways of the object store, stores of logs."""
    store, logs = site.components.object_store, site.components.logs
    found = [store.port] if store and node in gateways(site) else []
    return (*found, *([logs.port] if logs and node.name in logs.stores else []))


def wanted(facts: SiteFacts, node: SiteNode, only: Collection[str] | None) -> dict[str, int]:
    """Return part to its seconds for a node."""
    found = {}
    for part in PARTS:
        concerned = [n.name for n in facts.nodes if not part.roles or set(part.roles) & set(n.roles)]
        if part.witnesses:
            concerned = concerned[: part.witnesses]
        if node.name not in concerned or (only is not None and part.name not in only):
            continue
        if (part.name == "cephfs" and not facts.mount) or (part.name == "ports" and not _ports(node)):
            continue
        found[part.name] = part.seconds
    return found


def patterns() -> list[dict[str, str]]:
    """Return the known troubles of the journal, patterns.yml."""
    text = (files("avadm.doctor") / "patterns.yml").read_text(encoding="utf-8")
    return [{k: str(v) for k, v in row.items()} for row in YAML(typ="safe").load(text)]


def parameters(
    site_file: SiteFile, facts: SiteFacts, node: SiteNode, only: Collection[str] | None
) -> dict[str, Any]:
    """Return what the probe is told on a node, JSON-ready."""
    system = site_file.profile.os
    own = [node.address] if "dns" in node.roles else []
    service = [str(site_file.site.network.services[DNS_OFFSET])] if set(KUBE) & set(node.roles) else []
    return {
        "parts": wanted(facts, node, only),
        "name": node.name,
        "address": node.address,
        "mount": facts.mount,
        "certificates": list(CERTIFICATES),
        "patterns": {row["id"]: row["pattern"] for row in patterns()},
        "window": WINDOW_MINUTES * 60,
        "dns": own + service,
        "gpus": node.gpus,
        "rules": rules(),
        "packages": least_packages(" ".join((system["distribution"], system["release"]))),
        "ports": _ports(node),
        **places.told(site_file.site),
    }


def _ports(node: SiteNode) -> list[int]:
    return sorted({*node.ports, *(port for role in node.roles for port in ROLE_PORTS.get(role, ()))})
