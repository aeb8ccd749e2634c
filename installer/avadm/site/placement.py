"""Which nodes do what, where a role alone does not say it."""

from __future__ import annotations

from avadm.site.model import Node, Site

CLUSTER_DOMAIN = "cluster.local"
"""Domain of Kubernetes' own names."""


def log_stores(site: Site) -> list[Node]:
    """Return the nodes that keep the logs, in the order in which the site file names them."""
    logs = site.components.logs
    by_name = {n.name: n for n in site.nodes}
    return [by_name[name] for name in logs.stores if name in by_name] if logs else []


def kube_nodes(site: Site) -> list[Node]:
    """Return the nodes that run kubelet, in the site file's order."""
    return [n for n in site.nodes if {"master", "worker"} & set(n.roles)]


def provisioners(site: Site) -> list[Node]:
    """Return the nodes that make volumes for pods: the first three that run pods and mount the file system."""
    if not site.components.ceph.filesystem:
        return []
    return [n for n in site.nodes if {"client", "worker"} <= set(n.roles)][:3]


def balances(site: Site) -> bool:
    """Tell whether avadm gives Services of the type LoadBalancer their addresses."""
    return site.network.load_balancer is not None and site.network.load_balancer.by == "avadm"


def volume_makers(site: Site) -> list[Node]:
    """Return all nodes that make volumes: the provisioners, and each node that has local volumes."""
    own = {n.name for n in provisioners(site)}
    return [n for n in site.nodes if n.name in own or n.local_volumes_gib]


def registry_name(site: Site) -> str:
    """Return the name under which everybody knows the site's image registry."""
    return f"registry.{site.network.domain}"


def alertmanagers(site: Site) -> list[Node]:
    """Return the nodes of Alertmanager's mesh; none with the site's own monitoring."""
    return [] if site.components.monitoring.existing else site.with_role("alertmanager")


def metered(site: Site) -> bool:
    """Tell whether avadm's own Prometheus reads the nodes' metrics."""
    return not site.components.monitoring.existing and bool(site.with_role("prometheus"))
