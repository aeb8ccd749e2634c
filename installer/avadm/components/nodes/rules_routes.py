"""Rules over who tells whom the routes of pods: reflectors, switches, routed racks (P1, H3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from avadm.components.catalog import held
from avadm.components.masters.rules import taken
from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.site.draft import Draft
from avadm.site.model import Node, Site
from avadm.site.source import KeyPath

BGP: KeyPath = ("network", "bgp")
HOMES = {"master", "worker"}


def speakers(site: Site) -> list[Node]:
    """Return the nodes that have pods, and so routes."""
    return [n for n in site.nodes if HOMES & set(n.roles)]


def reflectors(draft: Draft) -> Iterator[Finding]:
    """Who reflects routes has routes: masters and workers; one alone is a single point of failure."""
    path: KeyPath = ("network", "route_reflectors")
    if not draft.ok(*path) or not draft.whole("roles", "name"):
        return
    names = draft.site.network.route_reflectors
    homes = {n.name for n in draft.site.nodes if {"master", "worker"} & set(n.roles)}
    for i, name in enumerate(names):
        if name not in homes or name in names[:i]:
            yield draft.error(
                "route-reflector",
                (*path, i),
                "A route reflector is a node of Kubernetes, named once.",
                name,
                ", ".join(sorted(homes)) or "a node with the role master or worker",
                "Name a master or a worker.",
            )
    if len(names) == 1 and len(homes) > 1:
        yield draft.warning(
            "route-reflector-single",
            path,
            "While the one route reflector is down, no node learns of new routes, and all lose the old ones.",
            names[0],
            "2 or 3 reflectors",
            "Name another one, best in another rack.",
        )


def peers(draft: Draft) -> Iterator[Finding]:
    """A switch is no node, is named once, and the nodes and racks that speak to it are there."""
    if not draft.ok(*BGP) or not draft.whole("roles", "name", "rack"):
        return
    homes = {n.name for n in speakers(draft.site)}
    racks = {n.rack for n in speakers(draft.site)}
    others = taken(draft)
    for i, peer in enumerate(draft.site.network.bgp.peers):
        path: KeyPath = (*BGP, "peers", i)
        if peer.address in others:
            yield draft.error(
                "bgp-peer",
                path,
                "A peer is a switch or router of the site, named once.",
                f"{peer.address}: {others[peer.address]}",
                "an address that no node and no other peer has",
                "Correct the address.",
            )
        others[peer.address] = f"another peer, {draft.where(path)}"
        for kind, named, known in (("node", peer.nodes, homes), ("rack", peer.racks, racks)):
            for name in sorted(set(named) - known):
                yield draft.error(
                    "bgp-peer",
                    path,
                    f"This {kind} has no master and no worker that could speak to the peer."
                    if kind == "rack"
                    else "This is no node that has routes of pods.",
                    name,
                    ", ".join(sorted(known)) or "a node with the role master or worker",
                    f"Name another {kind}, or none for all nodes.",
                )


def reached(draft: Draft) -> Iterator[Finding]:
    """Without reflectors and without the mesh each node has a switch that tells it the routes."""
    net = draft.site.network
    if not draft.ok(*BGP) or not draft.whole("roles", "name", "rack") or net.bgp.mesh is not False:
        return
    if net.route_reflectors:
        return
    alone = [
        n.name
        for n in speakers(draft.site)
        if not any(n.name in p.nodes or n.rack in p.racks or not (p.nodes or p.racks) for p in net.bgp.peers)
    ]
    if alone:
        yield draft.error(
            "bgp-nobody",
            (*BGP, "mesh"),
            "Nobody tells these nodes the routes of pods.",
            ", ".join(alone),
            "a peer or a route reflector for each node",
            "Name peers of these nodes or racks, or network.route_reflectors, or remove mesh.",
        )


def racks(draft: Draft) -> Iterator[Finding]:
    """Routed racks are parts of the management subnet, and pods find their way between them."""
    net = draft.site.network
    path: KeyPath = ("network", "rack_prefix")
    if not draft.ok("network") or not draft.whole("address", "rack", "roles"):
        return
    if net.rack_prefix is None:
        if net.ipip != "never":
            yield draft.error(
                "ipip-one-subnet",
                ("network", "ipip"),
                "All nodes are in one subnet, so nothing would ever be wrapped.",
                net.ipip,
                "never, or rack_prefix",
                "Say how long the prefix of one rack's subnet is, or remove ipip.",
            )
        return
    if net.rack_prefix <= net.management.prefixlen:
        yield draft.error(
            "rack-prefix",
            path,
            "A rack's subnet is a part of the management subnet.",
            f"/{net.rack_prefix} of {net.management}",
            f"longer than /{net.management.prefixlen}",
            "Correct it, or remove it where all nodes share one segment.",
        )
        return
    subnets: dict[str, set[IPv4Network]] = defaultdict(set)
    for node in draft.site.nodes:
        subnets[node.rack].add(subnet(draft.site, node))
    for rack, found in sorted(subnets.items()):
        if len(found) > 1:
            yield draft.error(
                "rack-prefix",
                path,
                f"The nodes of {rack} are in several subnets.",
                ", ".join(map(str, sorted(found))),
                "one for each rack",
                "Correct the addresses, the racks, or rack_prefix.",
            )
    if len(set().union(*subnets.values())) > 1 and net.ipip == "never" and not net.bgp.peers:
        yield draft.error(
            "rack-routes",
            path,
            "The routers between the racks do not know the way to pods.",
            "ipip: never, no network.bgp.peers",
            "either",
            "Let nodes tell the switches their routes (network.bgp.peers), or write ipip: cross_subnet.",
        )


def tunnels(draft: Draft) -> Iterator[Finding]:
    """Nodes' tunnels have addresses apart from those of pods: policies tell the two apart by their source."""
    net = draft.site.network
    if not draft.ok("network") or not draft.whole("roles") or net.ipip == "never" or net.rack_prefix is None:
        return
    wanted = len(speakers(draft.site))
    if net.tunnels is None:
        yield draft.error(
            "tunnels",
            ("network", "ipip"),
            "The nodes' tunnels have no addresses of their own.",
            "no network.tunnels",
            f"a subnet with {wanted} addresses or more",
            "Set network.tunnels to a range that nothing else uses, e.g. a /24.",
        )
    elif net.tunnels.num_addresses < wanted:
        yield draft.error(
            "tunnels",
            ("network", "tunnels"),
            "There are more masters and workers than tunnel addresses.",
            f"{net.tunnels}: {net.tunnels.num_addresses} for {quantity(wanted, 'node')}",
            "one for each",
            "Choose a larger range.",
        )


def shared(draft: Draft) -> Iterator[Finding]:
    """Who holds a virtual address together is in its subnet: other segments do not hear of it."""
    net = draft.site.network
    if net.rack_prefix is None or not draft.ok("network") or not draft.whole("address", "roles"):
        return
    services = net.load_balancer.first if net.load_balancer and net.load_balancer.by == "avadm" else None
    places: list[tuple[str, KeyPath, IPv4Address | None]] = [
        *((virtual.duty, virtual.key, address) for virtual, address in held(draft.site)),
        ("ingress", ("network", "load_balancer"), services),
    ]
    for role, path, address in places:
        away = [
            f"{n.name} ({n.address})"
            for n in draft.site.with_role(role)
            if address is not None and address not in subnet(draft.site, n)
        ]
        if away:
            yield draft.error(
                "vip-other-rack",
                path,
                f"Nodes with the role {role} that shall hold this address are in another rack's subnet.",
                f"{address}: {', '.join(away)}",
                f"in one /{net.rack_prefix} with it",
                f"Give the role {role} to nodes of one rack, and take an address of its subnet.",
            )


def subnet(site: Site, node: Node) -> IPv4Network:
    """Return the segment of the management network that a node is in."""
    length = site.network.rack_prefix or site.network.management.prefixlen
    return IPv4Network((node.address, length), strict=False)


RULES = [reflectors, peers, reached, racks, tunnels, shared]
