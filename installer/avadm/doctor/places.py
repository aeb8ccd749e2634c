"""Which nodes run what the site file places by its components and not by a role alone; and what the probe needs of that."""

from __future__ import annotations

from typing import Any

from avadm.pki.plan import log_stores
from avadm.site import cache
from avadm.site.model import Site
from avadm.site.object_pools import gateways

GATEWAY = "objects-gateway"
CACHE_MASTER, CACHE_WORKER, CACHE_CLIENT = "cache-master", "cache-worker", "cache-client"
LOG_STORE, LOG_SHIPPER = "log-store", "log-shipper"
"""Roles of the doctor's own, beside the site file's: no name of one there has a hyphen."""


def given(site: Site) -> dict[str, tuple[str, ...]]:
    """Return node to its roles of the object store, the cache and the logs; those without any are left out.

    Clients are those that mount the cache: without FUSE there is nothing to look at.
    """
    knobs = site.components
    placed = {GATEWAY: gateways(site)}
    if knobs.alluxio is not None:
        placed |= {
            CACHE_MASTER: site.with_role("alluxio_master"),
            CACHE_WORKER: site.with_role("alluxio_worker"),
            CACHE_CLIENT: cache.clients(site) if knobs.alluxio.fuse else [],
        }
    if knobs.logs is not None:
        placed |= {LOG_STORE: log_stores(site), LOG_SHIPPER: list(site.nodes)}
    found: dict[str, tuple[str, ...]] = {}
    for role, nodes in placed.items():
        for node in nodes:
            found[node.name] = (*found.get(node.name, ()), role)
    return found


def told(site: Site) -> dict[str, Any]:
    """Return what the probe is told of these parts: ports, the virtual address, the cache's mount; no key is among them."""
    store, alluxio, logs = site.components.object_store, site.components.alluxio, site.components.logs
    found: dict[str, Any] = {}
    if store is not None:
        found["objects"] = {"port": store.port, "vip": str(store.vip) if store.vip else ""}
    if alluxio is not None:
        found["cache"] = {
            "master_port": cache.MASTER_WEB_PORT,
            "worker_port": cache.WORKER_WEB_PORT,
            "mount": alluxio.mount_point,
            "folders": [m.path.strip("/") for m in alluxio.mounts],
        }
    if logs is not None:
        found["logs"] = {"port": logs.port}
    return found
