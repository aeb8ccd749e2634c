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
            yield draft.finding(
                "route-reflector",
                (*path, i),
                name,
                ", ".join(sorted(homes)) or "a node with the role master or worker",
            )
    if len(names) == 1 and len(homes) > 1:
        yield draft.finding("route-reflector-single", path, names[0], "2 or 3 reflectors")


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
            yield draft.finding(
                "bgp-peer",
                path,
                f"{peer.address}: {others[peer.address]}",
                "an address that no node and no other peer has",
            )
        others[peer.address] = f"another peer, {draft.where(path)}"
        for kind, named, known in (("node", peer.nodes, homes), ("rack", peer.racks, racks)):
            for name in sorted(set(named) - known):
                yield draft.finding(
                    f"bgp-peer-{kind}",
                    path,
                    name,
                    ", ".join(sorted(known)) or "a node with the role master or worker",
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
        yield draft.finding(
            "bgp-nobody", (*BGP, "mesh"), ", ".join(alone), "a peer or a route reflector for each node"
        )


def racks(draft: Draft) -> Iterator[Finding]:
    """Routed racks are parts of the management subnet, and pods find their way between them."""
    net = draft.site.network
    path: KeyPath = ("network", "rack_prefix")
    if not draft.ok("network") or not draft.whole("address", "rack", "roles"):
        return
    if net.rack_prefix is None:
        if net.ipip != "never":
            yield draft.finding("ipip-one-subnet", ("network", "ipip"), net.ipip, "never, or rack_prefix")
        return
    if net.rack_prefix <= net.management.prefixlen:
        yield draft.finding(
            "rack-prefix",
            path,
            f"/{net.rack_prefix} of {net.management}",
            f"longer than /{net.management.prefixlen}",
        )
        return
    subnets: dict[str, set[IPv4Network]] = defaultdict(set)
    for node in draft.site.nodes:
        subnets[node.rack].add(subnet(draft.site, node))
    for rack, found in sorted(subnets.items()):
        if len(found) > 1:
            yield draft.finding(
                "rack-prefix-split", path, ", ".join(map(str, sorted(found))), "one for each rack", rack=rack
            )
    if len(set().union(*subnets.values())) > 1 and net.ipip == "never" and not net.bgp.peers:
        yield draft.finding("rack-routes", path, "ipip: never, no network.bgp.peers", "either")


def tunnels(draft: Draft) -> Iterator[Finding]:
    """Nodes' tunnels have addresses apart from those of pods: policies tell the two apart by their source."""
    net = draft.site.network
    if not draft.ok("network") or not draft.whole("roles") or net.ipip == "never" or net.rack_prefix is None:
        return
    wanted = len(speakers(draft.site))
    if net.tunnels is None:
        yield draft.finding(
            "tunnels", ("network", "ipip"), "no network.tunnels", f"a subnet with {wanted} addresses or more"
        )
    elif net.tunnels.num_addresses < wanted:
        yield draft.finding(
            "tunnels-few",
            ("network", "tunnels"),
            f"{net.tunnels}: {net.tunnels.num_addresses} for {quantity(wanted, 'node')}",
            "one for each",
        )


def pod_range(draft: Draft) -> Iterator[Finding]:
    """kube-proxy takes what comes from one network for pods' requests: no one else has an address there."""
    net = draft.site.network
    if not net.more_pods or not draft.ok("network", "pods") or not draft.ok("network", "more_pods"):
        return
    others = [(path, n) for path, n in draft.networks() if path[1] not in ("pods", "more_pods", "services")]
    if inside := [f"{n} ({draft.where(path)})" for path, n in others if n.overlaps(net.pod_range)]:
        found = f"{', '.join(map(str, net.pod_networks))}: in {net.pod_range}, with {', '.join(inside)}"
        yield draft.finding("pod-range", ("network", "more_pods"), found, "nothing else in it")


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
            yield draft.finding(
                "vip-other-rack",
                path,
                f"{address}: {', '.join(away)}",
                f"in one /{net.rack_prefix} with it",
                role=role,
            )


def subnet(site: Site, node: Node) -> IPv4Network:
    """Return the segment of the management network that a node is in."""
    length = site.network.rack_prefix or site.network.management.prefixlen
    return IPv4Network((node.address, length), strict=False)


RULES = [reflectors, peers, reached, racks, tunnels, pod_range, shared]
