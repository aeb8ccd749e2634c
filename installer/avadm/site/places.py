"""Which nodes do what, where a role alone does not say it."""

from __future__ import annotations

from avadm.site.model import Node, Site


def log_stores(site: Site) -> list[Node]:
    """Return the nodes that keep the logs, in the order in which the site file names them."""
    logs = site.components.logs
    by_name = {n.name: n for n in site.nodes}
    return [by_name[name] for name in logs.stores if name in by_name] if logs else []
