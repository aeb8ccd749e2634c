"""What rules over a component's virtual address have in common."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.catalog import COMPONENTS
from avadm.components.masters.rules import free, taken
from avadm.components.model import Virtual
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.source import dotted


def wanted(draft: Draft, own: Virtual, what: str) -> Iterator[Finding]:
    """Several nodes that hold an address together have one, and it is no one else's.

    Args:
        draft: the site file, in which the component is and is whole.
        own: the address.
        what: who the nodes are, for people: "gateways".
    """
    nodes, vip = draft.site.with_role(own.duty), own.written(draft.site)
    section = own.key[:-1]
    if vip is None:
        if len(nodes) > 1:
            yield draft.finding(
                "vip-missing-several",
                section,
                f"no {own.key[-1]}",
                f"{own.key[-1]}: a free address of {draft.site.network.management}",
                what=what,
                dotted=dotted(own.key),
            )
        return
    others = taken(draft)
    known = [component.virtual for component in COMPONENTS if component.virtual]
    # Of two that are the same, one is reported: those of the network are there first.
    for one in sorted(known, key=lambda v: v.key[0] != "network"):
        if one == own:
            break
        if (address := one.written(draft.site)) and draft.ok(*one.key):
            others.setdefault(address, f"{dotted(one.key)}, {draft.where(one.key)}")
    pool = draft.site.network.load_balancer
    if pool and draft.ok("network", "load_balancer") and pool.first <= vip <= pool.last:
        others.setdefault(vip, f"network.load_balancer, {draft.where(('network', 'load_balancer'))}")
    yield from free(draft, own.key, vip, others)
