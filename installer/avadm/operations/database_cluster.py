"""PostgreSQL's cluster as Patroni reports it: who is the primary, who follows, who has all that was acknowledged."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from avadm.cluster import health
from avadm.cluster.connection import Cluster
from avadm.site.model import Site

CODE = "patroni-command"
# It reads the passwords from there: none is in a command.
PATRONICTL = ("timeout", "90", "patronictl", "-c", "/etc/patroni/config.yml")
ASK_S, SWITCH_S = 60.0, 120.0
LEADER, SYNC = "Leader", "Sync Standby"
RUNS = frozenset({"running", "streaming"})
"""States of a member that does its work; Patroni 3.2 and later say how a standby does."""


@dataclass(frozen=True, slots=True)
class DatabaseMember:
    """A member.

    Attributes:
        role: as Patroni calls it, e.g. ``Leader`` or ``Sync Standby``.
        runs: whether it does its work.
    """

    role: str
    runs: bool


@dataclass(frozen=True, slots=True)
class DatabaseCluster:
    """The members of a site's PostgreSQL.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    def members(self) -> dict[str, DatabaseMember]:
        """Return node to its member; AvadmError where no node can be asked, or Patroni's store does not answer."""
        words = ("list", "--format=json")
        text = self._first(self.cluster.asked("database"), words, ASK_S)
        with health.reading(words[0], CODE):
            found = json.loads(text or "[]")
            return {
                str(one["Member"]): DatabaseMember(str(one["Role"]), str(one["State"]) in RUNS)
                for one in found
            }

    def switch_over(self, candidate: str) -> None:
        """Let a standby take over from the primary."""
        # Without the leader's name, which has another option in each release, it is the one that leads.
        words = ("switchover", scope(self.cluster.site), "--candidate", candidate, "--force")
        self._first([candidate], words, SWITCH_S)

    def _first(self, nodes: list[str], words: tuple[str, ...], timeout: float) -> str:
        return self.cluster.first(nodes, shlex.join([*PATRONICTL, *words]), CODE, words[0], timeout)


def scope(site: Site) -> str:
    """Return the name of the cluster in Patroni's store (roles/database, database_scope)."""
    return site.name


def primary(members: dict[str, DatabaseMember]) -> str:
    """Return the node of the primary; "" where none runs."""
    return next((n for n, one in members.items() if one.role == LEADER and one.runs), "")


def in_sync(members: dict[str, DatabaseMember]) -> list[str]:
    """Return the nodes of standbys that have all that was acknowledged."""
    return [n for n, one in members.items() if one.role == SYNC and one.runs]
