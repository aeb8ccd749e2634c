"""Rules over the packet filter: what is allowed besides is about ports, networks and nodes that there are."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from ipaddress import IPv4Network, ip_address
from urllib.parse import urlsplit

from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

_ALLOW: KeyPath = ("network", "filter", "allow")
_WORDS = ("all", "nodes", "pods", "outside")


def sources(draft: Draft) -> Iterator[Finding]:
    """An allowed client is a network, and so are pods: their address is hidden on the way to other nodes."""
    net = draft.site.network
    for i, allowed in enumerate(net.filter.allow):
        for j, source in enumerate(allowed.sources):
            path = (*_ALLOW, i, "sources", j)
            if source in _WORDS or not draft.ok(*path):
                continue
            try:
                network = IPv4Network(source)
            except ValueError as error:
                yield draft.finding(
                    "filter-source-syntax", path, f"{source}: {error}", "such as 10.1.2.0/24 or 10.1.2.3/32"
                )
                continue
            if not draft.ok("network", "pods") or not draft.ok("network", "more_pods"):
                continue
            for pods in filter(network.subnet_of, net.pod_networks):
                key = "pods" if pods == net.pods else "more_pods"
                yield draft.finding("filter-source", path, f"{source}, within network.{key} {pods}", "pods")


def ranges(draft: Draft) -> Iterator[Finding]:
    """A range of ports has its first port first."""
    for i, allowed in enumerate(draft.site.network.filter.allow):
        if draft.ok(*_ALLOW, i) and allowed.last is not None and allowed.last <= allowed.port:
            yield draft.finding(
                "filter-range",
                (*_ALLOW, i, "last"),
                f"{allowed.port} to {allowed.last}",
                f"a port above {allowed.port}",
            )


def known_nodes(draft: Draft) -> Iterator[Finding]:
    """Each part of where something is allowed is `all`, a role, or fits a node's name."""
    for i, allowed in enumerate(draft.site.network.filter.allow):
        for j, part in enumerate(allowed.nodes):
            if part == "all" or not draft.ok(*_ALLOW, i, "nodes", j):
                continue
            if not any(fnmatchcase(n.name, part) or part in n.roles for n in draft.site.nodes):
                yield draft.finding(
                    "filter-nodes",
                    (*_ALLOW, i, "nodes", j),
                    part,
                    "a node's name, a pattern of names, a role of some node, or all",
                )


def scrapers(draft: Draft) -> Iterator[Finding]:
    """The site's own Prometheus is known by address, or it could not come in."""
    path: KeyPath = ("components", "monitoring", "existing")
    knobs = draft.site.network.filter
    if not knobs.enabled or knobs.prometheus or not draft.ok(*path) or not draft.ok("network", "filter"):
        return
    for i, url in enumerate(draft.site.components.monitoring.existing):
        if not draft.ok(*path, i):
            continue
        host = urlsplit(url).hostname or ""
        try:
            ip_address(host)
        except ValueError:
            yield draft.finding(
                "filter-prometheus",
                (*path, i),
                host,
                "network.filter.prometheus: the addresses from which it scrapes",
            )


RULES = [sources, ranges, known_nodes, scrapers]
