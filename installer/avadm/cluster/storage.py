"""What ceph reports of its OSDs, placement groups and pools, as operations that move data need it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from avadm.cluster import health
from avadm.cluster.connection import Cluster


@dataclass(frozen=True, slots=True)
class Osd:
    """One OSD.

    Attributes:
        id: its number.
        host: the host bucket of CRUSH that it is in.
        domain: the bucket of the failure domain's type that it is in, e.g. its rack; "" where there is none.
        up: whether it runs.
        kb: its size, KiB.
        used_kb: what of it is used, KiB.
        weight: its weight in CRUSH; 0 where it is to hold nothing.
        groups: how many placement groups it has.
    """

    id: int
    host: str
    domain: str
    up: bool
    kb: int
    used_kb: int
    weight: float
    groups: int


@dataclass(frozen=True, slots=True)
class Storage:
    """The cluster's storage.

    Attributes:
        osds: all OSDs.
        copies: of the pool with most, how many.
        nearfull: share of an OSD that may be used before ceph warns.
        states: state of placement groups to how many have it, e.g. ``active+clean``.
        behind: objects that are misplaced or lack copies.
        unfound: objects of which no copy is known.
        hosts: the host buckets of CRUSH.
    """

    osds: tuple[Osd, ...]
    copies: int
    nearfull: float
    states: Mapping[str, int]
    behind: int
    unfound: int
    hosts: frozenset[str]

    @classmethod
    def read(cls, cluster: Cluster) -> Self:
        """Ask ceph; AvadmError where it cannot be asked."""
        dump, tree = cluster.ceph("osd", "dump"), cluster.ceph("osd", "df", "tree")
        groups = health.placement_groups(cluster)
        nodes: dict[int, dict[str, Any]] = {
            one["id"]: one for one in [*tree["nodes"], *tree.get("stray", ())]
        }
        parent = {child: id for id, one in nodes.items() for child in one.get("children", ())}

        def above(id: int, kind: str) -> str:
            at: int | None = id
            while at is not None:
                if nodes[at].get("type") == kind:
                    return str(nodes[at]["name"])
                at = parent.get(at)
            return ""

        domain = cluster.site.components.ceph.failure_domain
        up = {one["osd"]: bool(one["up"]) for one in dump["osds"]}
        osds = tuple(
            Osd(
                id,
                above(id, "host"),
                above(id, domain),
                up.get(id, False),
                int(one.get("kb", 0)),
                int(one.get("kb_used", 0)),
                float(one.get("crush_weight", 0)),
                int(one.get("pgs", 0)),
            )
            for id, one in sorted(nodes.items())
            if id >= 0 and id in up
        )
        return cls(
            osds,
            max((int(pool["size"]) for pool in dump["pools"]), default=0),
            float(dump.get("nearfull_ratio", 0.85)),
            groups.states,
            groups.behind,
            groups.unfound,
            frozenset(str(one["name"]) for one in nodes.values() if one.get("type") == "host"),
        )

    def of(self, host: str) -> list[Osd]:
        """Return a host's OSDs."""
        return [one for one in self.osds if one.host == host]

    @property
    def inactive(self) -> dict[str, int]:
        """Placement groups that serve nothing, by state."""
        return health.inactive(self.states)

    @property
    def unclean(self) -> int:
        """How many placement groups are not active and clean; those that are scrubbed are."""
        return sum(health.unclean(self.states).values())

    def domains_without(self, gone: Collection[int]) -> set[str]:
        """Return the failure domains that hold data without some OSDs."""
        left = (one for one in self.osds if one.id not in gone and one.weight > 0 and one.up)
        return {one.domain for one in left if one.domain}

    def fullest_without(self, gone: Collection[int]) -> float:
        """Return the share that will be used of the OSD that is fullest once the data of some have moved to the others.

        What moves is spread by weight, so that each of the others grows by the same factor.
        """
        left = [one for one in self.osds if one.id not in gone and one.weight > 0 and one.kb > 0]
        moved = sum(one.used_kb for one in self.osds if one.id in gone)
        held = sum(one.used_kb for one in left)
        if not left:
            return 1.0
        room = sum(one.kb for one in left)
        average, factor = (held + moved) / room, (held + moved) / held if held else 1.0
        return max(average, max(one.used_kb / one.kb for one in left) * factor)
