"""The packet filter of each node: what the ports of all components (and the site file) do not let in is dropped."""

from __future__ import annotations

from avadm.components.model import Component, Packages, Phase, Question
from avadm.site.model import Node, Site

FILTERING, NAMED = "packet-filter", "packet-filter-named"
"""Duties: the node filters; the site file says whether it does."""


def filtering(site: Site) -> list[Node]:
    """Return the nodes that filter: all or none."""
    return list(site.nodes) if site.network.filter.enabled else []


def named(site: Site) -> list[Node]:
    """Return the nodes of which the site file says whether they filter: all or none."""
    return list(site.nodes) if site.network.filter.enabled is not None else []


COMPONENT = Component(
    # Before all others: the rules follow from the site file and not from what is installed.
    phase=Phase(
        "filter", "packet filter", "playbooks/filter.yml", ("base",), (), ("packet_filter",), chooses=named
    ),
    duties={FILTERING: filtering, NAMED: named},
    packages={FILTERING: Packages(base=("packet_filter",))},
    configurations=("/etc/avadm/packet-filter.nft",),
    questions=(Question("packet_filter", (NAMED,)),),
)
