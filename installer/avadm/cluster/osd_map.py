"""The OSDs of a running site as ceph reports them, and whether one may be destroyed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.errors import AvadmError

if TYPE_CHECKING:
    import tenacity

TIB = 1 << 40
SETTLED_S = 30.0
"""Seconds after a change of its maps in which the managers may know too little to call an OSD safe, though all is clean."""
ASK_AGAIN_S = 2.0
"""Seconds between two such questions."""


@dataclass(frozen=True, slots=True)
class OsdState:
    """One OSD.

    Attributes:
        id: its number.
        host: the host of the CRUSH map that it hangs below; "" where it hangs below none.
        uuid: its UUID; another one once it is destroyed.
        up: whether it runs.
        inside: whether data are placed on it.
        destroyed: whether only its id and its place are left.
        device_class: its CRUSH class; "" where it has none.
        weight: its weight in CRUSH, TiB.
    """

    id: int
    host: str
    uuid: str
    up: bool
    inside: bool
    destroyed: bool
    device_class: str
    weight: float


@dataclass(frozen=True, slots=True)
class OsdMap:
    """All OSDs and the placement groups.

    Attributes:
        fsid: the cluster.
        osds: id to OSD.
        groups: state of placement groups to how many have it, e.g. ``active+clean``.
        behind: copies of objects that are missing or elsewhere.
        unfound: objects of which no copy is known.
    """

    fsid: str
    osds: Mapping[int, OsdState]
    groups: Mapping[str, int]
    behind: int
    unfound: int

    @classmethod
    def read(cls, cluster: Cluster) -> Self:
        """Ask ceph.

        Raises:
            AvadmError: no monitor answers.
        """
        dump, tree = cluster.ceph("osd", "dump"), cluster.ceph("osd", "tree")
        groups = health.placement_groups(cluster)
        nodes: list[dict[str, Any]] = tree["nodes"]
        hosts = {
            child: str(one["name"]) for one in nodes if one["type"] == "host" for child in one["children"]
        }
        crush = {int(one["id"]): one for one in [*nodes, *tree.get("stray", ())] if one["type"] == "osd"}
        osds = {}
        for one in dump["osds"]:
            number = int(one["osd"])
            placed = crush.get(number, {})
            osds[number] = OsdState(
                number,
                hosts.get(number, ""),
                str(one["uuid"]),
                bool(one["up"]),
                bool(one["in"]),
                "destroyed" in one["state"],
                str(placed.get("device_class", "")),
                float(placed.get("crush_weight", 0.0)),
            )
        return cls(str(dump["fsid"]), osds, groups.states, groups.behind, groups.unfound)

    @property
    def unclean(self) -> dict[str, int]:
        """State to number of the placement groups that are not active and clean; one that is scrubbed is both."""
        return health.unclean(self.groups)

    @property
    def without_copy(self) -> str:
        """What has no complete copy on OSDs that are up, in words; "" where all has one."""
        bad = {
            state: n
            for state, n in self.groups.items()
            if "active" not in state.split("+") or "stale" in state.split("+")
        }
        found = [f"{n} placement groups are {state}" for state, n in sorted(bad.items())]
        return ", ".join(found + ([f"{self.unfound} objects are unfound"] if self.unfound else []))

    @property
    def moving(self) -> str:
        """What is not clean, in words."""
        found = [f"{n} placement groups are {state}" for state, n in sorted(self.unclean.items())]
        return ", ".join(found + ([f"{self.behind} copies of objects are behind"] if self.behind else []))

    @property
    def left(self) -> float:
        """How much is not clean: less than before is progress."""
        return float(self.behind + sum(self.unclean.values()))


def why_kept(cluster: Cluster, number: int) -> str:
    """Return why an OSD may not be destroyed yet, in ceph's words; "" where all that it holds is complete elsewhere.

    Raises:
        AvadmError: ceph could not be asked.
    """
    found, no = health.refused(cluster, "osd", "safe-to-destroy", f"osd.{number}")
    if no:
        return no
    if number in (found or {}).get("safe_to_destroy", ()):
        return ""
    words = {
        "active": "placement groups are mapped to it",
        "stored_pgs": "it still stores placement groups, and not all are active and clean",
        "missing_stats": "it reports nothing, and not all placement groups are active and clean",
    }
    return next((text for key, text in words.items() if number in (found or {}).get(key, ())), "no answer")


def why_kept_once_settled(cluster: Cluster, number: int) -> str:
    """Return what `why_kept` does, asked again for a while where the OSD is down and nothing is known to depend on it.

    Raises:
        AvadmError: ceph could not be asked.
    """
    import tenacity

    def unsettled(kept: str) -> bool:
        if not kept:
            return False
        osds = OsdMap.read(cluster)
        return not osds.osds[number].up and not osds.unclean

    def last(state: tenacity.RetryCallState) -> str:
        return cast("str", cast("tenacity.Future", state.outcome).result())

    return tenacity.Retrying(
        retry=tenacity.retry_if_result(unsettled),
        stop=tenacity.stop_after_delay(SETTLED_S),
        wait=tenacity.wait_fixed(ASK_AGAIN_S),
        retry_error_callback=last,
    )(why_kept, cluster, number)


def device_bytes(cluster: Cluster, osd: OsdState) -> int:
    """Return the size of an OSD's device, bytes; by its weight, rounded down, where ceph keeps nothing else of it."""
    try:
        found = cluster.ceph("osd", "metadata", str(osd.id)) or {}
        return int(found["bluestore_bdev_size"])
    except (AvadmError, KeyError, ValueError):
        # Of a destroyed one. CRUSH keeps five digits.
        return int(max(0.0, osd.weight - 1e-5) * TIB)


def placed_groups(cluster: Cluster, number: int) -> int:
    """Return how many placement groups the managers know on an OSD; AvadmError where ceph could not be asked."""
    found = cluster.ceph("osd", "df")
    return next((int(one["pgs"]) for one in found["nodes"] if int(one["id"]) == number), 0)
