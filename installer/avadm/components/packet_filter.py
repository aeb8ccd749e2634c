"""The packet filter of each node: what the ports of all components (and the site file) do not let in is dropped."""

from __future__ import annotations

from avadm.components.model import EVERYWHERE, Component, Packages, Phase, Question

COMPONENT = Component(
    # Before all others: the rules follow from the site file and not from what is installed.
    phase=Phase("filter", "packet filter", "playbooks/filter.yml", ("base",), (), ("packet_filter",)),
    packages={EVERYWHERE: Packages(base=("packet_filter",))},
    configurations=("/etc/avadm/packet-filter.nft",),
    questions=(Question("packet_filter"),),
)
