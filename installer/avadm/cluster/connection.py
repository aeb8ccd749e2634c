"""A running site as operations work on it: what is recorded of it, and how its parts are asked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from avadm.catalogue import finding
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.kube.masters import Masters
from avadm.kube.node_runs import Platform
from avadm.platform_users.node_drains import NodeDrains
from avadm.remote import access
from avadm.remote.fleet import Fleet
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.state.replication import StateReplica
from avadm.state.site_state import SiteState

CEPH_S = 60.0
"""Seconds that one command of ceph has, monitors that are being elected included."""


@dataclass(frozen=True)
class Cluster:
    """A running site.

    Attributes:
        site_file: the site.
        fleet: ssh to its nodes.
        state: what is recorded of it.
        replica: the copies of the records on its nodes; None before the site's lock is held: nothing is recorded then.
        avoided: nodes that are not asked for others: they are dead, or about to leave.
        platforms: administrator ("": the only one) to AVA as it is asked in that name.
    """

    site_file: SiteFile
    fleet: Fleet
    state: SiteState
    replica: StateReplica | None = None
    avoided: frozenset[str] = frozenset()
    platforms: dict[str, Platform] = field(default_factory=dict, compare=False, repr=False)

    @property
    def site(self) -> Site:
        """What the site file says."""
        return self.site_file.site

    @cached_property
    def masters(self) -> Masters:
        """The masters of Kubernetes."""
        names = self.asked("master")
        return Masters(self.fleet, names, self.site_file.profile.python)

    def platform(self, administrator: str = "") -> Platform | None:
        """Return AVA, asked in the name of an administrator, of the only one where empty; None on a site without it.

        It is connected at the first question, until `close`.
        """
        if self.site.components.ava is None:
            return None
        if administrator not in self.platforms:
            self.platforms[administrator] = NodeDrains(self.site_file, self.fleet, administrator or None)
        return self.platforms[administrator]

    def close(self) -> None:
        """End what was opened to ask the site."""
        for one in self.platforms.values():
            one.close()

    def asked(self, role: str) -> list[str]:
        """Return the names of a role's nodes that may be asked."""
        return [n.name for n in self.site.with_role(role) if n.name not in self.avoided]

    def push(self) -> None:
        """Copy the records to the nodes that keep them; a controller that is lost leaves no setting that nothing knows."""
        if self.replica is not None:
            self.replica.push()

    def ceph(self, *words: str, timeout: float = CEPH_S) -> Any:
        """Return what a command of ceph prints as JSON; None where it prints nothing.

        Args:
            words: the command without ``ceph``, e.g. ``"osd", "dump"``.
            timeout: seconds that it has.

        Raises:
            AvadmError: no monitor's node could be asked, or the last one asked could not do it.
        """
        seconds = max(5, int(timeout) - 10)
        command = shlex.join(
            ["timeout", str(seconds), "ceph", "--connect-timeout", "15", *words, "-f", "json"]
        )
        # Any other exit status is a refusal, the cluster's answer: another monitor gives the same.
        final = lambda rc: rc not in (1, 110, 124)  # noqa: E731
        return _json(
            self.first(self.asked("mon"), command, "ceph-command", shlex.join(words), timeout, final)
        )

    def kubectl(self, *words: str, timeout: float = CEPH_S) -> str:
        """Return what kubectl prints on a master.

        Raises:
            AvadmError: no master could be asked, or the last one asked could not do it.
        """
        command = shlex.join(
            ["kubectl", "--kubeconfig", "/root/.kube/config", "--request-timeout=30s", *words]
        )
        return self.first(self.masters.names, command, "kubernetes-command", shlex.join(words), timeout)

    def script(self, node: str, text: str, timeout: float) -> str:
        """Return the output of a script on a node; AvadmError where it failed there (exit 1)."""
        done = self.fleet.run(node, text, timeout=timeout)
        if done.error is not None:
            raise AvadmError(access.finding("node-script", node, done.error), EXIT_FOUND_BAD)
        if done.rc != 0:
            raise AvadmError(finding("node-script", found=done.complaint, host=node), EXIT_FOUND_BAD)
        return done.stdout

    def first(
        self,
        nodes: Sequence[str],
        command: str,
        code: str,
        words: str,
        timeout: float = 60.0,
        final: Callable[[int], bool] = lambda rc: False,
    ) -> str:
        """Return the output of a command on the first of some nodes on which it ends well.

        Args:
            nodes: asked one after the other.
            command: what is run.
            code: of the findings where it ends well on none.
            words: the command for people.
            timeout: seconds that each node has.
            final: whether an exit status is an answer, after which no other node is asked.

        Raises:
            AvadmError: it ended well on none; one finding of each node that was asked.
        """
        findings: list[Finding] = []
        for node in nodes:
            done = self.fleet.run(node, command, timeout=timeout)
            if done.ok:
                return done.stdout
            if done.error is not None:
                findings.append(access.finding(code, node, done.error))
                continue
            findings.append(finding(code, found=done.complaint, host=node, words=words))
            if final(done.rc):
                break
        raise AvadmError(findings)


def _json(text: str) -> Any:
    """Return the JSON of an answer, whose first lines may be warnings; None where there is none."""
    for start, sign in enumerate(text):
        if sign in "[{":
            try:
                return json.loads(text[start:])
            except ValueError:
                continue
    return None
