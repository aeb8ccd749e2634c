"""What a running site reports of itself: monitors and etcd members in quorum, OSDs, placement groups, nodes that are Ready."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from avadm.cluster.connection import Cluster
from avadm.errors import DAMAGE, AvadmError

ASK_S = 30.0
"""Seconds of a question to single nodes."""
_READY = '{range .items[*]}{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
_MOVING = frozenset({"recovering", "recovery_wait", "backfilling", "backfill_wait", "peering", "activating"})


@dataclass(frozen=True, slots=True)
class Quorum:
    """The members of a quorum.

    Attributes:
        members: names of all.
        inside: names of those that are in it.
    """

    members: frozenset[str]
    inside: frozenset[str]

    def survives(self, gone: Collection[str]) -> bool:
        """Return whether it stays, or would be one again, without some members."""
        return len(self.inside - set(gone)) * 2 > len(self.members)


@contextmanager
def reading(words: str, code: str = "ceph-command") -> Iterator[None]:
    """Turn a reply of another shape into an error: nothing is known then, and that is never good.

    Args:
        words: the question.
        code: of the error's finding.
    """
    try:
        yield
    except DAMAGE as error:
        found = f"its reply cannot be parsed: {type(error).__name__}: {error}"[:300]
        raise AvadmError.of(code, found=found, words=words) from error


def answering(cluster: Cluster, names: Collection[str]) -> set[str]:
    """Return the nodes of these that take commands."""
    done = cluster.fleet.map(dict.fromkeys(names, "true"), timeout=ASK_S) if names else {}
    return {name for name, result in done.items() if result.ok}


def monitors(cluster: Cluster) -> Quorum:
    """Return ceph's monitors; AvadmError where none answers."""
    found = cluster.ceph("quorum_status")
    with reading("quorum_status"):
        members = frozenset(str(one["name"]) for one in found["monmap"]["mons"])
        return Quorum(members, frozenset(map(str, found["quorum_names"])))


def etcd_members(cluster: Cluster) -> Quorum:
    """Return the members of etcd, in the quorum those through which something can be written."""
    names = [n.name for n in cluster.site.with_role("etcd")]
    command = shlex.join(["timeout", "20", "/usr/local/sbin/avadm-etcd", "health"])
    done = cluster.fleet.map(dict.fromkeys(names, command), timeout=ASK_S)
    return Quorum(frozenset(names), frozenset(name for name, result in done.items() if result.ok))


def osds(cluster: Cluster) -> dict[str, dict[int, bool]]:
    """Return each host of the CRUSH map with its OSDs, of each whether it is up; AvadmError where no monitor answers."""
    found = cluster.ceph("osd", "tree")
    with reading("osd tree"):
        nodes = found["nodes"]
        up = {int(one["id"]): one["status"] == "up" for one in nodes if one["type"] == "osd"}
        hosts = [one for one in nodes if one["type"] == "host"]
        return {str(h["name"]): {int(i): up[int(i)] for i in h["children"] if int(i) in up} for h in hosts}


def awaited_osds(cluster: Cluster) -> dict[str, list[int]]:
    """Return each host with its OSDs that are down and not out; AvadmError where no monitor answers.

    One that is out was given up before, and holds nothing.
    """
    found = cluster.ceph("osd", "tree")
    with reading("osd tree"):
        nodes = found["nodes"]
        down = {
            int(one["id"])
            for one in nodes
            if one["type"] == "osd" and one["status"] != "up" and float(one["reweight"]) > 0
        }
        hosts = [one for one in nodes if one["type"] == "host"]
        return {str(h["name"]): sorted(down & {int(i) for i in h["children"]}) for h in hosts}


def why_not_stopped(cluster: Cluster, ids: Collection[int]) -> str:
    """Return why OSDs may not be stopped together, in ceph's words; "" where they may, also where some are down already.

    Raises:
        AvadmError: ceph could not be asked.
    """
    if not ids:
        return ""
    # The report in JSON came with 16.2 only.
    return refused(cluster, "osd", "ok-to-stop", *map(str, sorted(ids)))[1]


def refused(cluster: Cluster, *words: str) -> tuple[Any, str]:
    """Return what a question of ceph's, such as ``osd ok-to-stop``, prints, and why it says no; "" where it does not.

    Only the exit status is the same in all releases: EBUSY where it says no, EAGAIN where it does not know all placement groups.

    Raises:
        AvadmError: ceph could not be asked.
    """
    try:
        return cluster.ceph(*words), ""
    except AvadmError as error:
        reply = error.findings[-1].found if error.findings else ""
        if reply.startswith(("Error EBUSY", "Error EAGAIN")):
            return None, reply.partition(": ")[2] or reply
        raise


@dataclass(frozen=True, slots=True)
class PlacementGroups:
    """The placement groups of all pools.

    Attributes:
        states: state to how many have it, e.g. ``active+clean``.
        behind: copies of objects that are missing or elsewhere.
        unfound: objects of which no copy is known.
    """

    states: Mapping[str, int]
    behind: int
    unfound: int


def placement_groups(cluster: Cluster) -> PlacementGroups:
    """Ask ceph for the placement groups; AvadmError where no monitor answers."""
    status = cluster.ceph("status")
    with reading("status"):
        found = status["pgmap"]
        rows: list[Mapping[str, Any]] = found.get("pgs_by_state") or []
        # Left out where they are zero.
        return PlacementGroups(
            {str(row["state_name"]): int(row["count"]) for row in rows},
            int(found.get("degraded_objects", 0)) + int(found.get("misplaced_objects", 0)),
            int(found.get("unfound_objects", 0)),
        )


def unclean(states: Mapping[str, int]) -> dict[str, int]:
    """Return the states of these that are not active and clean; one that is scrubbed is both."""
    return {state: n for state, n in states.items() if not {"active", "clean"} <= set(state.split("+"))}


def inactive(states: Mapping[str, int]) -> dict[str, int]:
    """Return the states of these in which a placement group serves nothing."""
    return {state: n for state, n in states.items() if "active" not in state.split("+")}


def unsettled(states: Mapping[str, int]) -> dict[str, int]:
    """Return the states of these in which something is inactive or about to move: all of it where no OSD is down."""
    found = {}
    for state, n in states.items():
        words = set(state.split("+"))
        if "active" not in words or words & _MOVING:
            found[state] = n
    return found


def metadata_servers(cluster: Cluster) -> tuple[set[str], int]:
    """Return the metadata servers that are up, and how many the file systems need; AvadmError where no monitor answers."""
    dump = cluster.ceph("fs", "dump")
    with reading("fs dump"):
        maps = [one["mdsmap"] for one in dump.get("filesystems") or []]
        up = {str(one["name"]) for one in dump.get("standbys") or []}
        up |= {str(info["name"]) for one in maps for info in one["info"].values()}
        return up, sum(int(one["max_mds"]) for one in maps)


def ready(cluster: Cluster) -> dict[str, bool]:
    """Return each node that Kubernetes knows with whether it is Ready; AvadmError where no master answers."""
    text = cluster.kubectl("get", "nodes", "-o", f"jsonpath={_READY}")
    rows = [line.split() for line in text.split("\n") if line.strip()]
    return {row[0]: row[1:] == ["True"] for row in rows}


def active_ranks(cluster: Cluster) -> tuple[int, int]:
    """Return how many ranks of file systems a metadata server serves, and how many they need; AvadmError without an answer."""
    dump = cluster.ceph("fs", "dump")
    with reading("fs dump"):
        maps = [one["mdsmap"] for one in dump.get("filesystems") or []]
        states = [str(info.get("state", "")) for one in maps for info in one["info"].values()]
        return states.count("up:active"), sum(int(one["max_mds"]) for one in maps)
