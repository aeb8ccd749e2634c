"""The packet filter of each node: what the ports of all components (and the site file) do not let in is dropped."""

from __future__ import annotations

from avadm.components.model import Component, Packages, Phase, Probe
from avadm.site.model import Node, Site

FILTERING = "packet-filter"
"""Duty: the node filters."""


def filtering(site: Site) -> list[Node]:
    """Return the nodes that filter: all or none."""
    return list(site.nodes) if site.network.filter.enabled else []


COMPONENT = Component(
    # Before all others: the rules follow from the site file and not from what is installed.
    # Where nodes do not filter, it removes what is there.
    phase=Phase(
        "filter",
        "packet filter",
        "playbooks/filter.yml",
        ("base",),
        (),
        ("packet_filter",),
        apart=True,
        peer_inputs=("packet_filter_rules", "packet_filter_kind"),
    ),
    duties={FILTERING: filtering},
    packages={FILTERING: Packages(base=("packet_filter",))},
    configurations=("/etc/avadm/packet-filter.nft",),
    questions=(Probe("packet_filter"),),
)
