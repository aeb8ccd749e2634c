"""PostgreSQL's members as their Patroni reports them: who is the primary, who follows it, and a switchover."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import Any

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.components.database.component import PATRONI
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations.database_cluster import PATRONICTL
from avadm.operations.model import Gate, Progress, Tell
from avadm.operations.run import Clock, pass_gate

CODE = "database-command"
LAG_BYTES = 1 << 20
"""What a standby may be behind: as much as one that takes over may (roles/database); positions are seconds old."""
SWITCH_S = 120.0
"""Seconds without progress of a switchover."""
_LEADERS = {"leader", "standby_leader"}
_SYNCHRONOUS = {"sync_standby", "quorum_standby"}


@dataclass(frozen=True, slots=True)
class DatabaseMembers:
    """The members of a site's PostgreSQL.

    Attributes:
        cluster: the site.
        clock: time, for tests.
    """

    cluster: Cluster
    clock: Clock = field(default_factory=Clock)

    @property
    def names(self) -> list[str]:
        """The nodes that are to be members."""
        return [n.name for n in self.cluster.site.with_role("database")]

    def members(self) -> dict[str, dict[str, Any]]:
        """Return node to what Patroni knows of its member: role, state, timeline and lag.

        Raises:
            AvadmError: no member answers, or with something else.
        """
        text = self.cluster.first(self.names, _question("cluster"), CODE, "cluster")
        with health.reading("cluster", CODE):
            return {str(one["name"]): dict(one) for one in json.loads(text)["members"]}

    def leader(self) -> str:
        """Return the node of the primary; "" where there is none."""
        return next((n for n, one in self.members().items() if one.get("role") in _LEADERS), "")

    def troubles(self) -> dict[str, str]:
        """Return node (or ``cluster``) to what keeps members from being well: all run, one leads, all others follow it."""
        seen = self.members()
        found = {n: "it is no member" for n in self.names if n not in seen}
        found |= {
            n: f"its state is {one.get('state')}"
            for n, one in seen.items()
            if one.get("state") not in ("running", "streaming")
        }
        leaders = [n for n, one in seen.items() if one.get("role") in _LEADERS]
        if len(leaders) != 1:
            return found | {"cluster": f"{len(leaders)} primaries"}
        line = seen[leaders[0]].get("timeline")
        standbys = {n: one for n, one in seen.items() if n not in leaders}
        for name, one in standbys.items():
            lag = one.get("lag", "unknown")
            if one.get("timeline") != line:
                found.setdefault(name, f"its timeline is {one.get('timeline')}, the primary's {line}")
            elif not isinstance(lag, int):
                found.setdefault(name, f"how much it is behind is {lag}")
            elif lag > LAG_BYTES:
                found.setdefault(name, f"it is {lag} bytes behind")
        if standbys and not _SYNCHRONOUS & {str(one.get("role")) for one in standbys.values()}:
            found.setdefault("cluster", "no standby is synchronous")
        return found

    def hand_over(self, node: str, tell: Tell) -> str:
        """Let a synchronous standby take over from a node; return its node, "" where the node is no primary or the only member.

        Raises:
            AvadmError: no standby has all data, or it did not take over (exit 1).
        """
        seen = self.members()
        if seen.get(node, {}).get("role") not in _LEADERS or len(seen) == 1:
            return ""
        heirs = sorted(n for n, one in seen.items() if one.get("role") in _SYNCHRONOUS)
        if not heirs:
            why = finding("upgrade-unhealthy", "cluster", "no standby is synchronous", name="postgresql")
            raise AvadmError(why, EXIT_FOUND_BAD)
        words = ["switchover", "--force", "--leader", node, "--candidate", heirs[0]]
        command = [*PATRONICTL, *words]
        self.cluster.first([node], shlex.join(command), CODE, "switchover", 100.0)

        def look() -> Progress:
            troubles = self.troubles()
            if self.leader() != heirs[0]:
                troubles["cluster"] = f"{heirs[0]} is not the primary"
            return Progress("; ".join(f"{n}: {why}" for n, why in troubles.items()), len(troubles))

        pass_gate(
            Gate(f"{heirs[0]} is the primary and all others follow it", look, SWITCH_S), tell, self.clock
        )
        return heirs[0]


def _question(path: str) -> str:
    """Return the command by which a node asks its own Patroni, which is known by its certificate."""
    argv = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "15"]
    return shlex.join([*argv, "--cacert", "/etc/patroni/ca.crt", f"https://127.0.0.1:{PATRONI}/{path}"])
