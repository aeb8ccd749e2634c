"""Which TCP ports a node's services will listen on, and the programs that may already do so."""

from __future__ import annotations

from avadm.render.addons import REGISTRY_PORT
from avadm.render.monitoring import GOSSIP_PORT, GRAFANA_PORT, PORTS
from avadm.site import cache
from avadm.site.model import Node
from avadm.site.object_store import OBJECTS_PORT

# The kernel cuts a program's name to 15 characters (/proc/PID/comm).
_COMM = 15

KUBE_NODE = {
    179: "bird",
    9091: "calico-node",  # felix' metrics
    9099: "calico-node",  # felix' health
    10248: "hyperkube",  # kubelet's health
    10249: "hyperkube",  # kube-proxy's metrics
    10250: "hyperkube",  # kubelet
    10256: "hyperkube",  # kube-proxy's health
}
BY_ROLE: dict[str, dict[int, str]] = {
    "mon": {3300: "ceph-mon", 6789: "ceph-mon"},
    "mgr": {9283: "ceph-mgr"},  # the prometheus module
    "prometheus": {PORTS["prometheus"]: "prometheus", PORTS["blackbox"]: "prometheus-blackbox-exporter"},
    "alertmanager": {
        PORTS["alertmanager"]: "prometheus-alertmanager",
        GOSSIP_PORT: "prometheus-alertmanager",
    },
    "grafana": {GRAFANA_PORT: "grafana"},
    "gpu": {PORTS["gpu"]: "dcgm-exporter"},
    "etcd": {2379: "etcd", 2380: "etcd"},
    "master": {
        6443: "hyperkube or haproxy",  # the API at the node's own address, haproxy at the virtual one
        8085: "kube-state-metrics",
        8086: "kube-state-metrics",
        9094: "calico-kube-controllers",  # their metrics
        10251: "hyperkube",  # scheduler
        10252: "hyperkube",  # controller-manager
        10257: "haproxy",  # its metrics over TLS
        10259: "haproxy",  # the scheduler's
        10261: "avadm-admission",
        **KUBE_NODE,
    },
    "worker": KUBE_NODE,
    "dns": {53: "coredns", 8053: "coredns", 8153: "coredns", 9153: "coredns"},
    "ingress": {80: "traefik", 443: "traefik", 8082: "traefik"},
    "registry": {
        # For readers, for the deployer, and what each tells of itself.
        REGISTRY_PORT + offset: "docker-registry or registry"
        for offset in range(4)
    },
    "rgw": {
        OBJECTS_PORT: "radosgw or haproxy"
    },  # the gateway at the node's own address, haproxy at the virtual one
    "alluxio_master": {
        **dict.fromkeys((cache.MASTER_PORT, cache.MASTER_WEB_PORT, cache.JOURNAL_PORT), "java")
    },
    "alluxio_worker": {**dict.fromkeys((cache.WORKER_PORT, cache.WORKER_WEB_PORT), "java")},
}
EVERYWHERE = {PORTS["node"]: "prometheus-node-exporter"}


def ports(node: Node) -> dict[int, str]:
    """Return port to the program that shall own it, for one node."""
    return EVERYWHERE | {port: name for role in node.roles for port, name in BY_ROLE.get(role, {}).items()}


def ours(program: str, owner: str) -> bool:
    """Whether a listening program's (cut) name is that of the owner (or of one of two), whatever its package calls it."""
    if " or " in owner:
        return any(ours(program, one) for one in owner.split(" or "))
    names = {owner, owner.removeprefix("prometheus-"), owner.removeprefix("prometheus-").replace("-", "_")}
    return any(program.startswith(name[:_COMM]) for name in names)
