"""Rules over the address plan (I1, H2): nothing overlaps, and each network can be what it is meant for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.source import KeyPath, dotted

_DOMAIN = re.compile(
    r"(?=.{1,190}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
)


def overlap(draft: Draft) -> Iterator[Finding]:
    """No two networks share an address; only a virtual switch lies inside a VPC."""
    for (a, net_a), (b, net_b) in combinations(draft.networks(), 2):
        if {a[1], b[1]} == {"vpc", "vswitches"} or not net_a.overlaps(net_b):
            continue
        if not draft.written(b):  # the reader did not write the default, so that it is not theirs to correct
            (a, net_a), (b, net_b) = (b, net_b), (a, net_a)
        yield draft.finding(
            "cidr-overlap",
            b,
            f"{net_b} and {net_a} ({draft.where(a)})",
            "networks that share no address (H2)",
            name=_name(b),
            value=_name(a)[0].lower(),
            value2=_name(a)[1:],
            dotted=dotted(b),
        )


def vswitch_in_vpc(draft: Draft) -> Iterator[Finding]:
    """A virtual switch is a part of one VPC."""
    if not draft.ok("network", "vpc") or not draft.ok("network", "vswitches"):
        return
    vpcs = draft.site.network.vpc
    for i, switch in enumerate(draft.site.network.vswitches):
        if not any(switch.subnet_of(vpc) for vpc in vpcs):
            yield draft.finding(
                "vswitch-outside-vpc",
                ("network", "vswitches", i),
                switch,
                "inside one of " + ", ".join(map(str, vpcs)) if vpcs else "inside a network of network.vpc",
            )


def usable(draft: Draft) -> Iterator[Finding]:
    """Networks are unicast ones, and the machine room's hold its nodes."""
    for path, net in draft.networks():
        if (
            net.is_loopback
            or net.is_multicast
            or net.is_link_local
            or net.network_address.packed[0] in (0, 255)
        ):
            yield draft.finding(
                "network-unusable", path, net, "a unicast range, e.g. one inside 10.0.0.0/8", name=_name(path)
            )
        elif path[1] in ("management", "storage"):
            wanted = len(draft.site.nodes) if path[1] == "management" else 2
            if (room := net.num_addresses - 2) < wanted:
                yield draft.finding(
                    "network-too-small",
                    path,
                    f"{net}: {max(0, room)}",
                    f"at least {wanted}",
                    name=_name(path),
                )


def domain(draft: Draft) -> Iterator[Finding]:
    """The domain is one that DNS allows."""
    name = draft.site.network.domain
    if draft.ok("network", "domain") and not _DOMAIN.fullmatch(name):
        yield draft.finding(
            "domain-syntax-site",
            ("network", "domain"),
            name,
            "labels of lower-case letters, digits and inner hyphens, e.g. ai.example.com",
        )


def _name(path: KeyPath) -> str:
    names = {
        "management": "The management subnet",
        "storage": "The storage network",
        "pods": "The pod network",
        "more_pods": "A further pod network",
        "services": "The service network",
        "tunnels": "The tunnel network",
        "vpc": "A VPC network",
        "vswitches": "A virtual switch",
    }
    return names[str(path[1])]


RULES = [overlap, vswitch_in_vpc, usable, domain]
