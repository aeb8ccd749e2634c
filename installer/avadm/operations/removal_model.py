"""What the parts of a node's removal share: which node, which of its roles, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from avadm.cluster.connection import Cluster
from avadm.cluster.setting import Setting
from avadm.findings import Finding
from avadm.operations.drain import DRAIN, DrainOptions
from avadm.operations.model import Interruption, LeavingRun, Step, Tell
from avadm.site.load import SiteFile
from avadm.site.model import Node

HOST_S = 300.0
"""Seconds that a script on the node has, daemons that end slowly included."""
STOP = "systemctl disable --now {unit} 2>&1 || {{ systemctl is-active --quiet {unit} && exit 1; true; }}"
"""Stops a unit for good; one that does not exist counts as stopped."""
KEEPALIVED = "/etc/keepalived"
Bring = Callable[[SiteFile, Sequence[str], Sequence[str], Tell], None]
"""Runs phases: the site file as it will be, names of the phases, nodes, and what shows a line."""


def stop(units: Sequence[str]) -> str:
    """Return the script that stops units for good, in this order."""
    return "; ".join(f"{{ {STOP.format(unit=unit)}; }}" for unit in units)


def withdraw(instance: str) -> str:
    """Return the script that gives a virtual address up; keepalived continues where the node may hold another one."""
    files = f"{KEEPALIVED}/conf.d/{instance}.conf {KEEPALIVED}/addresses.d/{instance}"
    # Without one of its files it has nothing to change: a second time nothing is reloaded.
    return (
        f"if ls {files} >/dev/null 2>&1; then rm -f {files}; "
        f"if ls {KEEPALIVED}/conf.d/*.conf >/dev/null 2>&1; then systemctl reload-or-restart keepalived; fi; fi; "
        f"if ! ls {KEEPALIVED}/conf.d/*.conf >/dev/null 2>&1; then {STOP.format(unit='keepalived')}; fi"
    )


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
        coming: the site file as it will be; None where that is not known, or not good.
        bring: runs phases with it; None where there is none.
        heir: the node that takes its place; "" where there is none.
        drain: how a worker is drained.
    """

    cluster: Cluster
    node: Node
    roles: frozenset[str]
    whole: bool
    dead: bool
    accepted: frozenset[str] = frozenset()
    coming: SiteFile | None = None
    bring: Bring | None = None
    heir: str = ""
    drain: DrainOptions = DRAIN

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def touched(self) -> tuple[str, ...]:
        """The node where it is touched."""
        return () if self.dead else (self.name,)

    @property
    def stays(self) -> frozenset[str]:
        """The roles that it keeps."""
        return frozenset() if self.whole else frozenset(self.node.roles) - self.roles

    def ahead(self, phases: Sequence[str], nodes: Sequence[str], tell: Tell) -> None:
        """Bring nodes up to date with the site file as it will be, before anything that they ask is stopped."""
        if self.bring is not None and self.coming is not None:
            self.bring(self.coming, phases, nodes, tell)

    def others(self, role: str) -> list[str]:
        """Return the other nodes with a role."""
        return [n.name for n in self.cluster.site.with_role(role) if n.name != self.name]

    def run(self, script: str, timeout: float = HOST_S) -> str:
        """Return the output of a script on the node; AvadmError where it failed there (exit 1)."""
        return self.cluster.script(self.name, script, timeout)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a removal, planned.

    Attributes:
        steps: what is done.
        refusals: what speaks against it.
        interrupts: what users notice.
        runs: AVA's runs that leave.
        held: settings that are held to the end of the removal.
    """

    steps: Sequence[Step] = ()
    refusals: Sequence[Finding] = ()
    interrupts: Sequence[Interruption] = ()
    runs: Sequence[LeavingRun] = ()
    held: Sequence[Setting] = ()
