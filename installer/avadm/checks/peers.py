"""Which pairs of nodes measure the way between them: O(log n) for each node, and every node in enough pairs to be identified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from avadm.site.model import Network, Node

ALL_PAIRS = 17  # nodes up to which every pair is measured (8 requests by each node)


@dataclass(frozen=True, slots=True)
class Peer:
    """One measurement that a node shall make.

    Attributes:
        network: ``management`` or ``storage``.
        name: the other node.
        address: its address there.
        own: the asking node's address there.
        size: bytes of a full frame on that network; 0 for whatever the own interface has.
    """

    network: str
    name: str
    address: str
    own: str
    size: int


def strides(count: int) -> list[int]:
    """Return how far along the ring of nodes each one measures: all distances, or the powers of two.

    A round trip is the same from either end, so half the ring is enough. With powers of two every node is in about
    2 log2(n) pairs, near and far (racks follow each other in most site files), and n log2(n) pairs are measured in all.
    """
    half = count // 2
    if count <= ALL_PAIRS:
        return list(range(1, half + 1))
    return [1 << k for k in range(half.bit_length()) if 1 << k <= half]


def peers(nodes: Sequence[Node], network: Network) -> dict[str, list[Peer]]:
    """Return node name to what it shall measure; one ring for each network."""
    asked: dict[str, list[Peer]] = {n.name: [] for n in nodes}
    for key, attribute in (("management", "address"), ("storage", "storage_address")):
        ring = [n for n in nodes if getattr(n, attribute) is not None]
        size = (network.mtu if key == "management" else network.storage_mtu) or 0
        for i, node in enumerate(ring):
            for stride in strides(len(ring)):
                if 2 * stride == len(ring) and i >= stride:
                    continue  # the opposite node has measured this pair
                other = ring[(i + stride) % len(ring)]
                addresses = str(getattr(other, attribute)), str(getattr(node, attribute))
                asked[node.name].append(Peer(key, other.name, *addresses, size))
    return asked
