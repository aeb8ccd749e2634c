"""Which nodes have which part of the cache (Alluxio), and its TCP ports."""

from __future__ import annotations

from avadm.site.model import Node, Site

MASTER_PORT = 19998
MASTER_WEB_PORT = 19999
"""Metrics and REST of a master."""
JOURNAL_PORT = 19200
"""Where masters agree on the journal among themselves; used where there are several."""
WORKER_PORT = 29999
WORKER_WEB_PORT = 29998
"""Metrics of a worker; not its 30000 by default, which is the first of Kubernetes' NodePorts."""
ELECTED = (1, 3)
"""How many masters there may be: one, or three that choose the leading one."""


def clients(site: Site) -> list[Node]:
    """Return the nodes that have the cache's client: those with the role, or without any such every node of Kubernetes."""
    if site.components.alluxio is None:
        return []
    return site.with_role("alluxio_client") or [n for n in site.nodes if {"master", "worker"} & set(n.roles)]


def members(site: Site) -> list[Node]:
    """Return all nodes that have a part of the cache, in the file's order; none where the site has no cache."""
    if site.components.alluxio is None:
        return []
    own = {n.name for n in clients(site)}
    servers = {"alluxio_master", "alluxio_worker"}
    return [n for n in site.nodes if n.name in own or servers & set(n.roles)]
