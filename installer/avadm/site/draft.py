"""What a rule is handed: the site, where each key stands, and which places the model already refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.site.model import Node, Site
from avadm.site.profile import Profile
from avadm.site.source import KeyPath, dotted
from avadm.site.text import plain

CEPH_ROLES = ("mon", "mgr", "osd", "mds", "client")


@dataclass(frozen=True, slots=True)
class Draft:
    """A site under examination.

    Attributes:
        site: the model; where the file was wrong it holds stand-ins.
        where: key path to ``FILE:LINE``.
        written: whether a key path stands in the file, or is a default.
        broken: key paths with stand-ins; rules leave out whatever depends on them.
        profile: its version profile; None where there is no good one.
    """

    site: Site
    where: Callable[[KeyPath], str]
    written: Callable[[KeyPath], bool]
    broken: frozenset[KeyPath] = frozenset()
    profile: Profile | None = None

    def ok(self, *path: str | int) -> bool:
        """Whether nothing at, above or under a key path was refused."""
        return not any(path[: len(b)] == b or b[: len(path)] == path for b in self.broken)

    def whole(self, *keys: str) -> bool:
        """Whether these keys are right in every node: what counts nodes would otherwise count wrongly."""
        if any(b in ((), ("nodes",)) for b in self.broken):
            return False
        return not any(b[0] == "nodes" and (len(b) < 3 or b[2] in keys) for b in self.broken)

    def nodes(self, *keys: str) -> Iterator[tuple[int, Node]]:
        """Return index and node for each node whose keys are right."""
        for i, node in enumerate(self.site.nodes):
            if all(self.ok("nodes", i, key) for key in keys):
                yield i, node

    def has(self, *roles: str) -> bool:
        """Whether any node has one of the roles."""
        return any(role in node.roles for node in self.site.nodes for role in roles)

    def networks(self) -> Iterator[tuple[KeyPath, IPv4Network]]:
        """Return key path and value of each network that is right."""
        net = self.site.network
        single = {
            "management": net.management,
            "storage": net.storage,
            "pods": net.pods,
            "services": net.services,
            "tunnels": net.tunnels,
        }
        for key, value in single.items():
            if value is not None and self.ok("network", key):
                yield ("network", key), value
        for key, values in {"more_pods": net.more_pods, "vpc": net.vpc, "vswitches": net.vswitches}.items():
            if self.ok("network", key):
                yield from ((("network", key, i), value) for i, value in enumerate(values))

    def finding(
        self,
        code: str,
        path: KeyPath,
        found: object = "",
        wanted: str = "",
        *,
        host: str | None = None,
        **fields: Any,
    ) -> Finding:
        """Return a finding of the catalogue at a key path."""
        where = f"{self.where(path)} {dotted(path)}"
        return finding(code, where, plain(str(found)), wanted, host=host, **fields)

    def twice(self, code: str, seen: Iterable[tuple[KeyPath, object, str | None]]) -> Iterator[Finding]:
        """Yield an error for each value that was there before; ``seen`` gives place, value and host."""
        first: dict[object, KeyPath] = {}
        for path, value, host in seen:
            if value in first:
                again = f"{value}, also at {self.where(first[value])} ({dotted(first[value])})"
                yield self.finding(code, path, again, "each one once", host=host, value=value)
            else:
                first[value] = path
