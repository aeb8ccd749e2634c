"""What the certificates of several components share."""

from __future__ import annotations

from avadm.site.model import Node, Site

LOCAL = ("localhost",), ("127.0.0.1",)
"""Names and addresses by which a node asks itself."""


def names(node: Node, site: Site) -> tuple[str, ...]:
    """Return the names of a node, without and with the site's domain."""
    return node.name, f"{node.name}.{site.network.domain}"
