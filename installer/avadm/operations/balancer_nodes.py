"""Nodes with haproxy and a virtual address: the address leaves a node before its haproxy changes, and answers throughout."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import AddressAway, ApiServerAway
from avadm.cluster.setting import Setting
from avadm.components.masters.component import balanced

ASK_S = 40.0
"""Seconds of the question whether haproxy answers; the health programs give up after 3 and 8 for each address."""


@dataclass(frozen=True, slots=True)
class BalancerNodes:
    """The nodes of a site whose haproxy answers at a virtual address.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    def settings(self, node: str) -> tuple[Setting, ...]:
        """Return that the virtual address is not held by a node, where another one can hold it."""
        alone = all(len(names) == 1 for _, _, names in self._groups() if node in names)
        return () if alone else (AddressAway(node),)

    def api_server(self, node: str) -> tuple[Setting, ...]:
        """Return that requests keep away from a node's API server, where another one answers at the virtual address."""
        masters = [n.name for n in self.cluster.site.with_role("master")]
        several = self.cluster.site.network.api_vip is not None and len(masters) > 1
        return (ApiServerAway(node),) if several and node in masters else ()

    def troubles(self) -> dict[str, str]:
        """Return node to why its haproxy, or the virtual address asked from there, does not answer."""
        commands = {
            node: f"{shlex.quote(program)} 127.0.0.1 && {shlex.quote(program)} {shlex.quote(address)}"
            for program, address, names in self._groups()
            for node in names
        }
        found = {}
        for node, done in self.cluster.fleet.map(commands, timeout=ASK_S).items():
            if done.error is not None:
                found[node] = f"it cannot be reached: {done.error}"
            elif done.rc != 0:
                found[node] = f"haproxy does not answer: {done.complaint}"
        return found

    def _groups(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the health program, the virtual address and the nodes of each row of nodes that share an address."""
        for program, address, nodes in balanced(self.cluster.site):
            yield f"/usr/local/sbin/avadm-{program}-health", str(address), [n.name for n in nodes]
