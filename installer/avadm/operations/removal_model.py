"""What the parts of a node's removal share: which node, which of its roles, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations.drain import DrainOptions
from avadm.operations.model import Interruption, LeavingRun, Step
from avadm.remote import access
from avadm.site.model import Node

HOST_S = 300.0
"""Seconds that a script on the node has, daemons that end slowly included."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A node that leaves the site, or loses a role.

    Attributes:
        cluster: the site.
        node: the node.
        roles: the roles that it loses.
        whole: whether the node leaves altogether.
        dead: whether it does not answer and never will: nothing on it is touched.
        accepted: ids of refusals that the user accepts.
        drain: how a worker is drained.
    """

    cluster: Cluster
    node: Node
    roles: frozenset[str]
    whole: bool
    dead: bool
    accepted: frozenset[str] = frozenset()
    drain: DrainOptions = field(default_factory=DrainOptions)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def touched(self) -> tuple[str, ...]:
        """The node where it is touched."""
        return () if self.dead else (self.name,)

    def others(self, role: str) -> list[str]:
        """Return the other nodes with a role."""
        return [n.name for n in self.cluster.site.with_role(role) if n.name != self.name]

    def run(self, script: str, timeout: float = HOST_S) -> str:
        """Return the output of a script on the node; AvadmError where it failed there (exit 1)."""
        done = self.cluster.fleet.run(self.name, script, timeout=timeout)
        if done.error is not None:
            raise AvadmError(access.finding("node-script", self.name, done.error), EXIT_FOUND_BAD)
        if done.rc != 0:
            raise AvadmError(finding("node-script", found=done.complaint, host=self.name), EXIT_FOUND_BAD)
        return done.stdout


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a removal, planned.

    Attributes:
        steps: what is done.
        refusals: what speaks against it.
        interrupts: what users notice.
        runs: AVA's runs that leave.
    """

    steps: Sequence[Step] = ()
    refusals: Sequence[Finding] = ()
    interrupts: Sequence[Interruption] = ()
    runs: Sequence[LeavingRun] = ()
