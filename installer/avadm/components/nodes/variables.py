"""Variables of the roles kube_node and calico: kubelet, kube-proxy and the network of pods."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from avadm.components.etcd.variables import client_urls
from avadm.components.masters.variables import api_url
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import key_pem
from avadm.pki.model import Authority, key_variable
from avadm.pki.store import KeyStore
from avadm.site import placement as places
from avadm.site.components import Kubernetes, Reserved
from avadm.site.hardware import minimum
from avadm.site.model import Node, Site
from avadm.site.profile import Profile

CNI_PLUGINS = ("loopback", "portmap", "bridge", "host-local")
IPIP_BYTES = 20
"""What a packet of a pod loses where it travels inside one of a node: the length of an IP header."""
DNS_OFFSET = 10
"""Number of the DNS service's address in the network of services, as in every Kubernetes."""
LABELS = "avadm.io"
"""Prefix of the site's own labels of nodes."""
AVA = "ava.io"
"""Prefix of the labels by which the platform's scheduler knows nodes."""
MASTER_TAINT = "node-role.kubernetes.io/master=:NoSchedule"
GPU_TAINT = "nvidia.com/gpu=:NoSchedule"
"""What pods that ask for GPUs tolerate without saying so (admission plug-in ExtendedResourceToleration)."""


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the nodes; nothing where the site has no masters."""
    site, profile, store = given.site, given.profile, given.store
    if not site.with_role("master"):
        return
    knobs = site.components.kubernetes
    api = api_url(site)
    kept = limits(knobs)
    out.all |= {
        "kube_node_packages": profile.packages.get("kube_node", []),
        "kube_node_iptables": profile.features.get("iptables", ""),
        "kube_node_server": api,
        "kube_node_pods": str(site.network.pod_range),
        "kube_node_cluster_dns": str(site.network.services[DNS_OFFSET]),
        "kube_node_cluster_domain": places.CLUSTER_DOMAIN,
        "kube_node_cni_plugins": {
            name: f"{{{{ artifacts['cni-plugins'].files['{name}'] }}}}" for name in CNI_PLUGINS
        },
        "kube_node_pause_archive": "{{ artifacts.pause.files['image.tar'] }}",
        "kube_node_system_reserved": kept["systemReserved"],
        "kube_node_kube_reserved": kept["kubeReserved"],
        "kube_node_eviction": kept["evictionHard"],
        # Unused images go before pods have to.
        "kube_node_image_gc_percent": max(10, int(95 - knobs.eviction.disk_percent)),
        "calico_etcd_servers": client_urls(site.with_role("etcd")),
        "calico_pods": [str(network) for network in site.network.pod_networks],
        "calico_server": api,
        "calico_mtu": (site.network.mtu or 1500) - (0 if site.network.ipip == "never" else IPIP_BYTES),
        "calico_ipip": {"never": "Never", "cross_subnet": "CrossSubnet"}[site.network.ipip],
        "calico_tunnels": str(tunnels(site) or ""),
        "calico_as_number": site.network.bgp.as_number,
        "calico_mesh": mesh(site),
        "calico_peers": peers(site),
        "calico_route_reflectors": list(site.network.route_reflectors),
        "calico_etcd_ca_certificate": store.trusted(Authority.ETCD),
        "calico_programs": {
            name: f"{{{{ artifacts.calico.files['{name}'] }}}}"
            for name in ("calico", "calicoctl", "kube-controllers")
        },
        "calico_image_archive": "{{ artifacts['calico-image'].files['image.tar'] }}",
        "calico_image": "avadm/calico-node:{{ artifacts['calico-image'].version }}",
    }
    for node in places.kube_nodes(site):
        marks = {"kube_node_labels": labels(node, site, profile), "kube_node_taints": taints(node, site)}
        out.host(node.name).update(_node(node, site, store) | marks)


def tunnels(site: Site) -> IPv4Network | None:
    """Return the network of the nodes' tunnel addresses; None where no packets are wrapped."""
    return None if site.network.ipip == "never" else site.network.tunnels


def mesh(site: Site) -> bool:
    """Return whether each node tells each other its routes."""
    reply = site.network.bgp.mesh
    return not site.network.route_reflectors if reply is None else reply


def peers(site: Site) -> list[dict[str, Any]]:
    """Return the sessions with switches: one for each switch and node, or one of all nodes with it."""
    found: list[dict[str, Any]] = []
    for peer in site.network.bgp.peers:
        one = {"address": str(peer.address), "as_number": peer.as_number}
        if not peer.nodes and not peer.racks:
            found.append({**one, "node": ""})
        found += [
            {**one, "node": n.name}
            for n in places.kube_nodes(site)
            if n.name in peer.nodes or n.rack in peer.racks
        ]
    return found


def limits(knobs: Kubernetes) -> dict[str, dict[str, str]]:
    """Return what each node keeps back from pods and when it evicts them, by the names of kubelet's configuration."""
    disk, least = f"{knobs.eviction.disk_percent:g}%", knobs.eviction
    return {
        "systemReserved": _reserved(knobs.system_reserved),
        "kubeReserved": _reserved(knobs.kube_reserved),
        "evictionHard": {
            "memory.available": f"{least.memory_mib}Mi",
            "nodefs.available": disk,
            "nodefs.inodesFree": f"{least.inodes_percent:g}%",
            "imagefs.available": disk,
        },
    }


def labels(node: Node, site: Site, profile: Profile) -> dict[str, str]:
    """Return the labels of a node: what it is for, and what pods may ask for."""
    found = {f"node-role.kubernetes.io/{role}": "" for role in ("master", "worker") if role in node.roles}
    found[f"{LABELS}/rack"] = node.rack
    found[f"{LABELS}/pool"] = "gpu" if "gpu" in node.roles else "cpu"
    if node.gpus:
        found[f"{LABELS}/gpu-model"] = node.gpus.model
        found[f"{AVA}/gpu-model"] = node.gpus.model
        if node.gpus.slots > 1:
            found[f"{LABELS}/pool"] = "gpu-shared"
            found[f"{AVA}/gpu-slots"] = str(node.gpus.slots)
        # A prefix that the role gpu_driver has compared with what runs.
        if driver := profile.versions.get("gpu_driver", "").rstrip("."):
            found[f"{LABELS}/gpu-driver"] = driver
    if speed := minimum(site, profile, node).nic_gbit:
        found[f"{LABELS}/nic-gbit"] = f"{speed:g}"
    return found


def taints(node: Node, site: Site) -> list[str]:
    """Return the taints of a node: which pods keep away unless they say otherwise, or ask for GPUs."""
    found = []
    # Masters run what the cluster itself needs, and no user's pods.
    if "worker" not in node.roles:
        found.append(MASTER_TAINT)
    if "gpu" in node.roles and (site.components.kubernetes.gpu_taint or site.components.ava):
        found.append(GPU_TAINT)
    return found


def _node(node: Node, site: Site, store: KeyStore) -> dict[str, Any]:
    key = key_pem(key_variable(f"node-{node.name}"))
    master = "master" in node.roles
    found = {
        "kube_node_address": str(node.address),
        "kube_node_client_certificate": store.leaf(f"kubelet-client-{node.name}"),
        "kube_node_server_certificate": store.leaf(f"kubelet-server-{node.name}"),
        "kube_node_proxy_certificate": store.leaf(f"kube-proxy-{node.name}"),
        "kube_node_key": key,
        "calico_address": f"{node.address}/{site.network.rack_prefix or site.network.management.prefixlen}",
        "calico_etcd_certificate": store.leaf(f"calico-etcd-{node.name}"),
        "calico_certificate": store.leaf(f"calico-{node.name}"),
        "calico_key": key,
        "calico_controllers": master,
    }
    if master:
        found |= {
            "calico_controllers_certificate": store.leaf(f"calico-controllers-{node.name}"),
            "calico_controllers_key": key_pem(key_variable(f"master-{node.name}")),
        }
    return found


def _reserved(amount: Reserved) -> dict[str, str]:
    return {"cpu": f"{amount.cpu_millicores}m", "memory": f"{amount.memory_mib}Mi"}
