"""What ceph reports of its releases, clients, pools and file systems, as an upgrade of it needs that.

The shapes are those of 14.2 to 18.2, which differ in additions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from avadm.cluster.connection import Cluster
from avadm.cluster.health import reading

RELEASES: Mapping[int, str] = {
    10: "jewel",
    11: "kraken",
    12: "luminous",
    13: "mimic",
    14: "nautilus",
    15: "octopus",
    16: "pacific",
    17: "quincy",
    18: "reef",
    19: "squid",
}
"""Major release to its name."""
STANDBY_REPLAY = 1 << 5
"""Flag of a file system: standbys follow the journal of a rank (CEPH_MDSMAP_ALLOW_STANDBY_REPLAY, include/ceph_fs.h)."""


def major_of(name: str) -> int:
    """Return the major release of a name, e.g. 18 of ``reef``; 0 of one that is not known."""
    return next((number for number, known in RELEASES.items() if known == name), 0)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One health check that is not well.

    Attributes:
        code: e.g. ``OSD_DOWN``.
        error: whether it is an error rather than a warning.
        text: in ceph's words.
    """

    code: str
    error: bool
    text: str


@dataclass(frozen=True, slots=True)
class FileSystem:
    """One file system.

    Attributes:
        name: its name.
        max_mds: how many ranks it is to have.
        ranks: rank to the name of the metadata server that holds it and is active.
        followers: metadata servers that follow a rank's journal.
        standby_replay: whether standbys may follow.
        inside: how many ranks it has, those that stop included.
    """

    name: str
    max_mds: int
    ranks: Mapping[int, str]
    followers: frozenset[str]
    standby_replay: bool
    inside: int


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool.

    Attributes:
        name: its name.
        size: copies, or chunks of an erasure code.
        min_size: how many must be there to serve.
    """

    name: str
    size: int
    min_size: int


def health_checks(cluster: Cluster) -> list[HealthCheck]:
    """Return what is not well, muted checks left out; AvadmError where no monitor answers."""
    found = cluster.ceph("health", "detail")
    with reading("health detail"):
        return [
            HealthCheck(
                str(code), one["severity"] == "HEALTH_ERR", str(one.get("summary", {}).get("message", code))
            )
            for code, one in sorted(found["checks"].items())
            if not one.get("muted", False)
        ]


def pools(cluster: Cluster) -> list[Pool]:
    """Return all pools; AvadmError where no monitor answers."""
    found = cluster.ceph("osd", "dump")
    with reading("osd dump"):
        return [Pool(str(p["pool_name"]), int(p["size"]), int(p["min_size"])) for p in found.get("pools", ())]


def required_osd_release(cluster: Cluster) -> str:
    """Return the name of the release that OSDs must have at least; AvadmError where no monitor answers."""
    found = cluster.ceph("osd", "dump")
    with reading("osd dump"):
        return str(found["require_osd_release"])


def monitors_release(cluster: Cluster) -> int:
    """Return the major release that all monitors in quorum have at least; AvadmError where none answers."""
    found = cluster.ceph("mon", "dump")
    with reading("mon dump"):
        return int(found["min_mon_release"])


def without_messenger_v2(cluster: Cluster) -> list[str]:
    """Return the names of the monitors that do not listen for messenger v2; AvadmError where none answers."""
    found = cluster.ceph("mon", "dump")
    with reading("mon dump"):
        return sorted(
            str(one["name"])
            for one in found["mons"]
            if not any(address["type"] == "v2" for address in one["public_addrs"]["addrvec"])
        )


def clients_before(cluster: Cluster, oldest: int) -> dict[str, int]:
    """Return the release of clients that are older than a major one to how many are connected; "unknown" counts as older.

    Raises:
        AvadmError: no monitor answers.
    """
    found = cluster.ceph("features")
    with reading("features"):
        rows = found.get("client") or []
        # Before 14.2 an object with one group.
        groups = list(rows.values()) if isinstance(rows, dict) else rows
        seen: dict[str, int] = {}
        for one in groups:
            name = str(one["release"])
            if name == "unknown" or 0 < major_of(name) < oldest:
                seen[name] = seen.get(name, 0) + int(one["num"])
        return seen


def file_systems(cluster: Cluster) -> list[FileSystem]:
    """Return all file systems; AvadmError where no monitor answers."""
    found = cluster.ceph("fs", "dump")
    with reading("fs dump"):
        maps = [one["mdsmap"] for one in found.get("filesystems") or ()]
        return [
            FileSystem(
                str(one["fs_name"]),
                int(one["max_mds"]),
                {
                    int(mds["rank"]): str(mds["name"])
                    for mds in one["info"].values()
                    if mds["state"] == "up:active"
                },
                frozenset(
                    str(mds["name"]) for mds in one["info"].values() if mds["state"] == "up:standby-replay"
                ),
                bool(int(one["flags"]) & STANDBY_REPLAY),
                len(one["in"]),
            )
            for one in maps
        ]


def managers(cluster: Cluster) -> tuple[str, frozenset[str]]:
    """Return the active manager, "" where none is, and those that stand by; AvadmError where no monitor answers."""
    found = cluster.ceph("mgr", "dump")
    with reading("mgr dump"):
        active = str(found.get("active_name") or "") if found["available"] else ""
        return active, frozenset(str(one["name"]) for one in found.get("standbys") or ())
