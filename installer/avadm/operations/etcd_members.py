"""etcd's members, asked through `avadm-etcd` on their nodes: who leads, whether all have the same data, snapshots."""

from __future__ import annotations

import calendar
import json
import time
from dataclasses import dataclass
from typing import Any

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.errors import DAMAGE, AvadmError
from avadm.findings import Finding

CODE = "etcd-command"
FOLDER = "/var/lib/etcd/avadm-upgrade"
"""Where snapshots of upgrades are kept, apart from those that the timer removes."""
DATA = "/var/lib/etcd/avadm"
KEPT = 3
SKEW_S = 300.0
"""Seconds by which a node's clock may be behind the controller's."""
SNAPSHOT_S = 900.0


@dataclass(frozen=True, slots=True)
class Member:
    """A member as etcd itself lists it.

    Attributes:
        id: its id, as etcdctl takes it.
        node: the node that has its address; its own name where no node of the site has.
        learner: whether it does not vote yet.
    """

    id: str
    node: str
    learner: bool


@dataclass(frozen=True, slots=True)
class EtcdMembers:
    """The members of a site's etcd.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    @property
    def names(self) -> list[str]:
        """The nodes that are to be members and may be asked."""
        return self.cluster.asked("etcd")

    def members(self) -> list[Member]:
        """Return all members that etcd knows, also those that the site file does not name; AvadmError where none answers."""
        words = "member list"
        text = self.cluster.first(self.names, f"avadm-etcd ctl {words} -w json", CODE, words)
        address = {f"//{n.address}:": n.name for n in self.cluster.site.nodes}
        try:
            found = next(json.loads(line) for line in text.split("\n") if line.startswith("{"))
            return [
                Member(
                    format(int(one["ID"]), "x"),
                    next(
                        (name for part, name in address.items() if part in str(one["peerURLs"])),
                        str(one.get("name", "")),
                    ),
                    bool(one.get("isLearner")),
                )
                for one in found["members"]
            ]
        except (*DAMAGE, StopIteration) as error:
            reply = f"its reply cannot be parsed: {type(error).__name__}: {error}"[:300]
            raise AvadmError.of(CODE, found=reply, words=words) from error

    def remove(self, node: str) -> None:
        """Take a node's member out of the cluster by its id; one that is no member counts as done."""
        for one in self.members():
            if one.node == node:
                self.cluster.first(
                    [n for n in self.names if n != node],
                    f"avadm-etcd ctl member remove {one.id}",
                    CODE,
                    "member remove",
                )

    def _all(self, words: str) -> list[dict[str, Any]]:
        """Return what a command reports of the members that answer; etcdctl fails where one does not."""
        text = self.cluster.first(self.names, f"avadm-etcd ctl {words} -w json || true", CODE, words)
        for line in text.split("\n"):
            if line.startswith(("[", "{")):
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                # Its log has lines of JSON, too.
                if isinstance(found, list):
                    return found
        return []

    def _by_node(self, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        address = {f"//{n.address}:": n.name for n in self.cluster.site.nodes}
        return {
            name: one for one in found for part, name in address.items() if part in str(one.get("Endpoint"))
        }

    def status(self) -> dict[str, dict[str, Any]]:
        """Return node to the status that its member reports, for those that answer."""
        return {n: one["Status"] for n, one in self._by_node(self._all("endpoint status --cluster")).items()}

    def leader(self) -> str:
        """Return the node of the leader; "" where no member knows one."""
        for name, one in self.status().items():
            if one.get("leader") and one["leader"] == one["header"]["member_id"]:
                return name
        return ""

    def troubles(self) -> dict[str, str]:
        """Return node to what is wrong with its member: no answer, no leader, other data than the others'."""
        status = self.status()
        found = {n: "its member does not answer" for n in self.names if n not in status}
        found |= {n: "it knows no leader" for n, one in status.items() if not one.get("leader")}
        if found:
            return found
        # At one revision: the members are never asked at the very same moment. Proto3's JSON leaves out a 0.
        least = min(int(one["header"].get("revision", 0)) for one in status.values())
        hashes = {
            n: (one["HashKV"].get("hash"), one["HashKV"].get("compact_revision", 0))
            for n, one in self._by_node(self._all(f"endpoint hashkv --cluster --rev {least}")).items()
        }
        found = {n: f"it has no hash of revision {least}" for n in self.names if n not in hashes}
        if not found and len(set(hashes.values())) > 1:
            shown = ", ".join(f"{n}: {h} (compacted at {c})" for n, (h, c) in hashes.items())
            found = {"cluster": f"members differ at revision {least}: {shown}"}
        return found

    def hand_over(self, node: str) -> str:
        """Let another member lead where a node's does; return its node, "" where it did not lead."""
        status = self.status()
        mine = status.get(node, {})
        if not mine or mine.get("leader") != mine["header"]["member_id"]:
            return ""
        heirs = [n for n in status if n != node]
        if not heirs:
            return ""
        to = format(int(status[heirs[0]]["header"]["member_id"]), "x")
        # The leader alone takes this command, and each node asks its own member.
        self.cluster.first([node], f"avadm-etcd ctl move-leader {to}", CODE, "move-leader")
        return heirs[0]

    def snapshot(self) -> str:
        """Take a snapshot and prove that it is whole; return the node that has it."""
        findings: list[Finding] = []
        command = f"install -d -m 0700 {FOLDER} && avadm-etcd snapshot {FOLDER} {KEPT} 0 '' {DATA}"
        for node in self.names:
            try:
                self.cluster.first([node], command, CODE, "snapshot", SNAPSHOT_S)
            except AvadmError as error:
                findings += error.findings
                continue
            return node
        raise AvadmError(findings or [finding(CODE, found="no member", words="snapshot")])

    def has_snapshot(self, since: float) -> bool:
        """Return whether a node has a whole snapshot of an upgrade that was taken since a time, epoch seconds."""
        command = f"ls {FOLDER} 2>/dev/null | grep '^2.*[.]db$' | while read -r f; do avadm-etcd check {FOLDER}/$f; done"
        for node in self.names:
            done = self.cluster.fleet.run(node, command, timeout=120.0)
            for line in done.stdout.split("\n") if done.error is None else ():
                name = line.removesuffix(" is whole").rpartition("/")[2]
                try:
                    taken = calendar.timegm(time.strptime(name, "%Y%m%dT%H%M%SZ.db"))
                except ValueError:
                    continue
                if taken >= since - SKEW_S:
                    return True
        return False
