"""All components of a site, and what follows from them together: who listens where, who runs what."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from avadm.components import (
    addons,
    ava,
    backups,
    base,
    cache,
    ceph,
    cephfs,
    database,
    docker,
    etcd,
    gpu,
    grafana,
    logs,
    masters,
    monitoring,
    nodes,
    objects,
    packet_filter,
    rbd,
    registry,
    volumes,
)
from avadm.components.model import EVERYWHERE, At, Component, Peer, Phase, Port, Program, Question, Virtual
from avadm.site.model import Node, Site

__all__ = [
    "COMPONENTS",
    "EVERYWHERE",
    "At",
    "Component",
    "Peer",
    "Phase",
    "Port",
    "Program",
    "Question",
    "Virtual",
]

COMPONENTS: tuple[Component, ...] = tuple(
    module.COMPONENT
    for module in (
        base,
        packet_filter,
        ceph,
        cephfs,
        rbd,
        objects,
        monitoring,
        logs,
        etcd,
        database,
        backups,
        docker,
        gpu,
        masters,
        nodes,
        addons,
        volumes,
        registry,
        cache,
        grafana,
        ava,
    )
)
"""In the order in which phases are listed; a new component is one module and one line here."""
BY_NAME = {component.name: component for component in COMPONENTS}


def given(site: Site) -> dict[str, tuple[str, ...]]:
    """Return node to the duties that it has beside its roles in the site file; nodes without any are left out."""
    # A site does not change, and every node is asked for: with 256 nodes once is enough.
    if not _LAST or _LAST[0][0] is not site:
        _LAST[:] = [(site, _given(site))]
    return _LAST[0][1]


_LAST: list[tuple[Site, dict[str, tuple[str, ...]]]] = []


def _given(site: Site) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for component in COMPONENTS:
        for duty, nodes_of in component.duties.items():
            for node in nodes_of(site):
                found[node.name] = (*found.get(node.name, ()), duty)
    return found


def duties(site: Site, node: Node) -> set[str]:
    """Return all duties of a node: its roles, what components place on it, and what every node has."""
    return {EVERYWHERE, *node.roles, *given(site).get(node.name, ())}


def listeners(site: Site, node: Node) -> Iterator[tuple[int, Port]]:
    """Yield each port on which something listens on a node, with its number there (of a range the first)."""
    own = duties(site, node)
    for component in COMPONENTS:
        for port in component.ports:
            if port.duty in own and (number := port.of(site)) is not None:
                yield number, port


def taken(site: Site, node: Node) -> dict[int, str]:
    """Return TCP port to the program that shall own it on a node."""
    return {n: p.program for n, p in listeners(site, node) if p.taken and p.protocol == "tcp"}


def held(site: Site) -> list[tuple[Virtual, IPv4Address]]:
    """Return the virtual addresses that the site's nodes hold."""
    known = [component.virtual for component in COMPONENTS if component.virtual]
    return [(one, address) for one in known if (address := one.address(site))]


def always(site: Site, node: Node) -> tuple[int, ...]:
    """Return the TCP ports of a node on which something must listen, sorted."""
    return tuple(sorted({n for n, p in listeners(site, node) if p.always}))
