"""Variables of the role packet_filter: the rules of each node, from the ports of all components (docs/reference/ports.md).

A packet that opens a connection is judged by where it comes from (a pod, a node, elsewhere) and by the port that it wants. nft
0.5 of Ubuntu 16.04 has to take the text: it knows no `!= @set`, no ICMP in tables of the family inet, no named counters, no
name of a set with more than 15 characters, and finds a set of a new table only if that was added by a command of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from ipaddress import IPv4Address, ip_address
from urllib.parse import urlsplit

from avadm.components.catalog import duties, held, listeners
from avadm.components.model import At, Peer, Port
from avadm.components.packet_filter.options import Allowed
from avadm.inventory.model import RenderContext, Variables
from avadm.site.model import Node, Site

KUBERNETES = "kubernetes"
"""Set of the nodes with pods, behind whose addresses their pods come to other nodes (Calico's natOutgoing)."""
NODES = "nodes"
"""Set of all nodes, and of the virtual addresses that they hold."""
VRRP, IPIP = 112, 4
WORDS = {"all": Peer.ALL, "nodes": Peer.NODES, "pods": Peer.PODS, "outside": Peer.OUTSIDE}

HEAD = """\
# Managed by avadm: dropped is what neither a component needs nor network.filter allows (docs/reference/ports.md).
# Who was refused: `avadm-packet-filter status`. Off until the next boot or apply: `systemctl stop avadm-packet-filter`.
add table ip avadm
add table ip6 avadm
delete table ip avadm
delete table ip6 avadm
add table ip avadm
add table ip6 avadm
"""
REFUSED = """\
add set ip avadm dropped {
	type ipv4_addr . inet_proto . inet_service
	flags timeout
	timeout 15m
	size 4096
}
table ip avadm {
	chain refused {
		meta pkttype { broadcast, multicast } drop
		ip protocol tcp set update ip saddr . ip protocol . tcp dport @dropped
		ip protocol udp set update ip saddr . ip protocol . udp dport @dropped
		limit rate 6/minute log prefix "avadm-drop " level info
		counter drop
	}
"""
# A segment that opens no connection is of one that was there before the kernel tracked any, or is answered by a reset.
COMMON = """\
		ct state established,related accept
		tcp flags & (syn | ack) != syn accept
		icmp type { echo-request, echo-reply, destination-unreachable, time-exceeded, parameter-problem } accept
"""
IP6 = """\
# Nodes know each other by IPv4. A pod could reach its node by a link-local address.
table ip6 avadm {{
	chain input {{
		type filter hook input priority -160;
		iif lo accept
		ct state established,related accept
		tcp flags & (syn | ack) != syn accept
		meta l4proto 58 accept
		udp sport 547 udp dport 546 accept
		ip6 saddr fe80::/10 drop
		tcp dport {ssh} accept
		counter drop
	}}
}}
"""


class AddressSets:
    """The sets of addresses that rules name, of all nodes of a site: each is computed once, not for every node."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._members: dict[str, list[str]] = {}
        self._texts: dict[str, str] = {}

    def members(self, name: str) -> list[str]:
        """Return the addresses of a set: of all nodes, of those with pods, or of those with the duty of that name."""
        if name not in self._members:
            self._members[name] = list(dict.fromkeys(map(str, self._find(name))))
        return self._members[name]

    def text(self, name: str) -> str:
        """Return the command that adds a set."""
        if name not in self._texts:
            once = self.members(name)
            rows = [", ".join(once[i : i + 8]) for i in range(0, len(once), 8)]
            inside = ",\n\t\t".join(rows)
            self._texts[name] = (
                f"add set ip avadm {label(name)} {{\n\ttype ipv4_addr\n\telements = {{ {inside} }}\n}}\n"
            )
        return self._texts[name]

    def _find(self, name: str) -> list[IPv4Address]:
        site = self._site
        if name == NODES:
            return [*addresses(site.nodes), *(address for _, address in held(site))]
        if name == KUBERNETES:
            return addresses(n for n in site.nodes if has_pods(site, n))
        return addresses(n for n in site.nodes if name in duties(site, n))


@dataclass(slots=True)
class Chains:
    """The rules of a node as they are collected: chain to its rules, and the sets that they name, in order."""

    known: AddressSets
    rules: dict[str, dict[str, str]] = field(default_factory=dict)
    sets: dict[str, None] = field(default_factory=dict)

    def add(self, chain: str, match: str, why: str) -> None:
        """Let through what matches, once."""
        self.rules.setdefault(chain, {}).setdefault(match, why)

    def body(self, chain: str) -> str:
        """Return a chain's rules as text."""
        return "".join(f"\t\t{match} accept # {why}\n" for match, why in self.rules.get(chain, {}).items())


def render(given: RenderContext, out: Variables) -> None:
    """Write the rules, each kind of node's once, and which of them a node has."""
    site = given.site
    found = texts(site) if site.network.filter.enabled else {}
    kinds = {name: sha256(text.encode()).hexdigest()[:12] for name, text in found.items()}
    out.all["packet_filter_enabled"] = site.network.filter.enabled
    out.all["packet_filter_rules"] = {kinds[name]: text for name, text in found.items()}
    for name, kind in kinds.items():
        out.host(name)["packet_filter_kind"] = kind


def texts(site: Site) -> dict[str, str]:
    """Return node name to the text that nft is given where nodes filter."""
    known = AddressSets(site)
    away = _away(site, known)
    return {node.name: _text(site, node, known, away) for node in site.nodes}


def label(name: str) -> str:
    """Return what nft calls a set."""
    return name.replace("-", "_")


def addresses(nodes: Iterable[Node]) -> list[IPv4Address]:
    """Return the addresses of nodes on all networks of the site."""
    return [a for n in nodes for a in (n.address, n.storage_address) if a is not None]


def has_pods(site: Site, node: Node) -> bool:
    """Whether pods run on a node."""
    return bool(site.with_role("master")) and bool({"master", "worker"} & set(node.roles))


def scrapers(site: Site) -> list[IPv4Address]:
    """Return the addresses of the site's own Prometheus servers."""
    hosts = [urlsplit(url).hostname or "" for url in site.components.monitoring.existing]
    return list(dict.fromkeys([*filter(None, map(_literal, hosts)), *site.network.filter.prometheus]))


def _literal(host: str) -> IPv4Address | None:
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Address) else None


def _text(site: Site, node: Node, known: AddressSets, away: str) -> str:
    chains = Chains(known, sets={NODES: None})
    pods = has_pods(site, node)
    for number, port in listeners(site, node):
        if port.at is not At.LOOPBACK:
            _port(site, chains, _match(number, port), port)
    for virtual, address in held(site):
        if (duty := virtual.duty) in duties(site, node):
            _from_set(chains, duty, f"ip protocol {VRRP}", f"holders of {address}")
    if pods and site.network.ipip != "never":
        _from_set(chains, KUBERNETES, f"ip protocol {IPIP}", "pods' packets between racks")
    for allowed in _allowed(site, node):
        _own(chains, allowed)
    parts = [HEAD]
    parts += map(known.text, chains.sets)
    parts.append(REFUSED)
    places = ["pods", "nodes", "outside"] if site.with_role("master") else ["nodes", "outside"]
    parts += [f"\tchain {chain} {{\n{chains.body(chain)}\t\tgoto refused\n\t}}\n" for chain in places]
    parts += ["\tchain input {\n\t\ttype filter hook input priority -160;\n\t\tiif lo accept\n", COMMON]
    parts.append("\t\tudp sport 67 udp dport 68 accept\n")
    if "pods" in places:
        parts.append("\t\tip saddr " + _pods(site) + " goto pods\n")
    # Networks of the site file: they may hold nodes, and pods that are not meant.
    parts += [chains.body("input"), "\t\tip saddr @nodes goto nodes\n\t\tgoto outside\n\t}\n"]
    parts += [away] if pods else []
    return "".join([*parts, "}\n", IP6.format(ssh=site.ssh.port)])


def _away(site: Site, known: AddressSets) -> str:
    """Return the chains that judge what pods want of other nodes: those see the address of the pod's node alone."""
    chains = Chains(known)
    for node in site.nodes:
        for number, port in listeners(site, node):
            if port.at is not At.LOOPBACK and {Peer.ALL, Peer.PODS} & set(port.peers):
                chains.add("away", _match(number, port), port.what)
        for allowed in _allowed(site, node):
            if {"all", "pods"} & set(allowed.sources):
                chains.add("away", _match(allowed.port, allowed), _why(allowed))
    return (
        f"\tchain away {{\n{COMMON}{chains.body('away')}\t\tgoto refused\n\t}}\n"
        "\tchain forward {\n\t\ttype filter hook forward priority -160;\n"
        f"\t\tip saddr {_pods(site)} ip daddr @nodes goto away\n\t}}\n"
    )


def _pods(site: Site) -> str:
    """Return the networks of pods as nft's expressions have them."""
    first, *more = map(str, site.network.pod_networks)
    return f"{{ {', '.join([first, *more])} }}" if more else first


def _match(number: int, port: Port | Allowed) -> str:
    return f"{port.protocol} dport {number}" + (f"-{port.last}" if port.last else "")


def _port(site: Site, chains: Chains, match: str, port: Port) -> None:
    """Add what lets a port's peers in."""
    for peer in port.peers:
        if peer == Peer.SWITCHES:
            _from_outside(chains, [p.address for p in site.network.bgp.peers], match, port.what)
        elif peer in list(Peer):
            _peer(chains, Peer(peer), match, port.what)
        else:
            _from_set(chains, peer, match, port.what)
            if peer == "prometheus":
                _from_outside(chains, scrapers(site), match, port.what)


def _peer(chains: Chains, peer: Peer, match: str, why: str) -> None:
    if peer in (Peer.ALL, Peer.PODS):
        chains.add("pods", match, why)
    if peer in (Peer.ALL, Peer.NODES):
        chains.add("nodes", match, why)
    elif peer is Peer.PODS:
        _from_set(chains, KUBERNETES, match, why)
    if peer in (Peer.ALL, Peer.OUTSIDE):
        chains.add("outside", match, why)


def _own(chains: Chains, allowed: Allowed) -> None:
    """Add what the site file lets in."""
    match = _match(allowed.port, allowed)
    for source in allowed.sources:
        if source in WORDS:
            _peer(chains, WORDS[source], match, _why(allowed))
        else:
            chains.add("input", f"ip saddr {source} {match}", _why(allowed))


def _why(allowed: Allowed) -> str:
    """Return a reason as a comment: one line, and nothing that Ansible would take for its own."""
    return "site file: " + " ".join(allowed.why.replace("{", "(").replace("}", ")").split())


def _from_set(chains: Chains, name: str, match: str, why: str) -> None:
    if chains.known.members(name):
        chains.sets[name] = None
        chains.add("nodes", f"ip saddr @{label(name)} {match}", why)


def _from_outside(chains: Chains, sources: list[IPv4Address], match: str, why: str) -> None:
    for address in sources:
        chains.add("outside", f"ip saddr {address} {match}", why)


def _allowed(site: Site, node: Node) -> list[Allowed]:
    """Return what the site file lets through on a node."""

    def fits(part: str) -> bool:
        return part == "all" or part in node.roles or fnmatchcase(node.name, part)

    return [a for a in site.network.filter.allow if any(map(fits, a.nodes))]
