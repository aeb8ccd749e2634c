"""Memory is enough for what a node shall run: OSDs at their target, MDS cache, the cache, and something for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.components.alluxio import placement, variables
from avadm.findings import Finding
from avadm.site.model import Node, Site
from avadm_node import cache_sizes

# MiB besides OSD and MDS targets. A monitor wants 1-2 GiB (ceph's hardware recommendations).
# Kubernetes 1.9.11 with three nodes, resident: API server 310, controller-manager 125, scheduler 80, etcd 65; kubelet 115,
# proxy 85, docker with containerd 125, Calico 320; CoreDNS 40, traefik 50.
FIXED = {
    "mon": 1024,
    "mgr": 512,
    "prometheus": 1024,
    "alertmanager": 64,
    "grafana": 256,
    "client": 256,
    "etcd": 256,
    "master": 1280,
    "worker": 768,
    "dns": 128,
    "ingress": 128,
    "registry": 128,
}
SYSTEM = 512
# Written for the nodes' Python 2, which has no annotations.
sizes: Callable[..., dict[str, Any]] = cache_sizes.sizes


def needed(site: Site, node: Node) -> int:
    """Return the MiB that a node's roles want."""
    ceph = site.components.ceph
    total = SYSTEM + sum(FIXED.get(role, 0) for role in node.roles)
    if "osd" in node.roles:
        total += ceph.osd_memory_mib * sum(d.use == "osd" for d in node.devices)
    if "mds" in node.roles:
        total += ceph.mds_cache_mib * 3 // 2  # ceph's own advice: half as much again as the cache limit
    return total


def _cache(site: Site, node: Node, memory_mib: int, *, client: bool) -> None:
    """Calculate the cache's sizes as the role will.

    Raises:
        CacheSizeError: it has no room in the memory. Tiers on disks are left to the role.
    """
    knobs = site.components.alluxio
    parts = variables.parts(node, client)
    if knobs is None or not parts:
        return
    given = {
        "master": knobs.master_heap_mib,
        "worker": knobs.worker_heap_mib,
        "client": knobs.client_heap_mib,
    }
    tiers = [tier.model_dump() for tier in knobs.tiers if tier.kind == "MEM"]
    sizes(
        {"memory_mib": memory_mib, "disks": {}},
        parts,
        variables.dedicated(node),
        tiers,
        {part: given[part] or 0 for part in parts},
        knobs.block_mib or 0,
    )


def judge(context: PreflightContext) -> list[Finding]:
    """Return a warning per node with less memory than its roles want, an error where the cache would not start."""
    found = []
    clients = {node.name for node in placement.clients(context.site)}
    for node, memory in context.each("memory"):
        try:
            _cache(context.site, node, memory["total_mib"], client=node.name in clients)
        except cache_sizes.CacheSizeError as error:
            found.append(
                finding(
                    "memory-cache",
                    where="/proc/meminfo",
                    found=f"{memory['total_mib']} MiB",
                    host=node.name,
                    reason=error.reason,
                    remedy=error.remedy,
                )
            )
        wanted = needed(context.site, node)
        if memory["total_mib"] < wanted:
            found.append(
                finding(
                    "memory",
                    where="/proc/meminfo",
                    found=f"{memory['total_mib']} MiB",
                    wanted=f"{wanted} MiB for {', '.join(node.roles) or 'the system'}",
                    host=node.name,
                )
            )
    return found


CHECK = Check("memory", "memory is enough", ("memory",), judge, scope="all")
