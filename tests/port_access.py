"""Who may come to which port of a node, read off the components' table alone: what the packet filter is tried against."""

from avadm.components.catalog import COMPONENTS, duties, listeners
from avadm.components.model import At, Peer

UNUSED_IDS = ("t31", "u31", "t9999", "u40000")
"""Ports that no one has: the first letter is the protocol's."""


def words(site):
    """Return every port of the table, the ends of ranges, what is beside them, and some that no one has."""
    found = set(UNUSED_IDS)
    for component in COMPONENTS:
        for port in component.ports:
            number = port.of(site)
            if number is not None:
                last = port.last or number
                found |= {f"{port.protocol[0]}{one}" for one in (number, last, last + 1, number - 1)}
    return sorted(found)


def covers(site, node, word, loopback=False):
    """Return the entries of the table that are about a port of a node; with `loopback` also those at 127.0.0.1."""
    number = int(word[1:])
    return [
        port
        for first, port in listeners(site, site.node(node))
        if port.protocol[0] == word[0]
        and first <= number <= (port.last or first)
        and (loopback or port.at is not At.LOOPBACK)
    ]


def may(site, node, word, source):
    """Whether a source may come to a port of a node: a name of a node, `pod` or `outside`."""
    own = duties(site, site.node(source)) if source not in ("pod", "outside") else set()
    kind = {"pod": Peer.PODS, "outside": Peer.OUTSIDE}.get(source, Peer.NODES)
    for port in covers(site, node, word):
        wanted = set(port.peers)
        # A pod of another node comes by that node's address.
        if {Peer.ALL, kind} & wanted or wanted & own or (Peer.PODS in wanted and {"master", "worker"} & own):
            return True
    return False
