"""Rules over ports: on each node, no two programs listen at one port of one address."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from avadm.components.catalog import listeners
from avadm.components.model import At, Port
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

_ADDRESSES = {
    # A program that listens on all addresses counts as the node's own, so it meets those at 127.0.0.1 too.
    At.NODE: {"node", "loopback"},
    At.LOOPBACK: {"loopback"},
    At.VIRTUAL: {"virtual"},
    At.BOTH: {"node", "virtual"},
}
Listener = tuple[int, Port]


def clashes(one: Listener, other: Listener) -> bool:
    """Return whether two listeners of a node cannot both be there.

    One program that is listed twice, for different peers, is one listener. Of two ranges each program takes what is free.
    """
    (first, a), (second, b) = one, other
    if a.program == b.program or a.protocol != b.protocol or (a.last and b.last):
        return False
    meet = first <= (b.last or second) and second <= (a.last or first)
    return meet and bool(_ADDRESSES[a.at] & _ADDRESSES[b.at])


def ports(draft: Draft) -> Iterator[Finding]:
    """Each port of a node has one program; a clash is reported at the key that sets a port, else at the node's roles."""
    seen: set[tuple[KeyPath, str, str]] = set()
    for i, node in draft.nodes("name", "roles"):
        own = [one for one in listeners(draft.site, node) if _known(draft, one[1])]
        for pair in combinations(own, 2):
            if not clashes(*pair):
                continue
            # A port that the site file names: of two the later component's.
            path = next((p.key for _, p in reversed(pair) if p.key), ("nodes", i, "roles"))
            about = (path, pair[0][1].program, pair[1][1].program)
            if about in seen:
                continue
            seen.add(about)
            yield _finding(draft, path, node.name, pair)


def _known(draft: Draft, port: Port) -> bool:
    """Return whether what decides where a port is listened on was right in the site file."""
    return not port.key or draft.ok(*port.key)


def _finding(draft: Draft, path: KeyPath, node: str, pair: tuple[Listener, Listener]) -> Finding:
    # First the one whose number can be set here.
    first = sorted(pair, key=lambda listener: listener[1].key != path)
    shown = [f"{p.program} ({p.what}, {_number(n, p)})" for n, p in first]
    if path[0] == "nodes":
        duties = [p.duty or "every node" for _, p in pair]
        wanted, remedy = "one program per port", f"Give {duties[0]} and {duties[1]} to different nodes."
    else:
        wanted, remedy = "a port of its own", f"Set {'.'.join(map(str, path))} to another port."
        if usual := next((p.usual for _, p in pair if p.key == path), 0):
            remedy += f" {usual} is the usual one."
    return draft.finding("port-clash", path, " and ".join(shown), wanted, host=node, node=node, remedy=remedy)


def _number(number: int, port: Port) -> str:
    text = f"{number} to {port.last}" if port.last else str(number)
    return f"{text} UDP" if port.protocol == "udp" else text


RULES = [ports]
