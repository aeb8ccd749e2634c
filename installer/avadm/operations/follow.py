"""The part of an operation that brings nodes up to date with a changed site file, under the lock that it holds already."""

from __future__ import annotations

from dataclasses import dataclass

from avadm.cluster.connection import Cluster
from avadm.drift.detection import by_state
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.inventory.desired import Desired, Keyring
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.site.load import SiteFile


@dataclass(frozen=True, slots=True)
class Pending:
    """What a changed site file asks for, by the recorded state and inputs; what drifted meanwhile is seen when it runs.

    Attributes:
        phases: names of the phases that run, in order.
        nodes: the nodes on which they do.
    """

    phases: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The phases, for the plan."""
        return ", ".join(self.phases) or "no phase"


def pending(cluster: Cluster, site_file: SiteFile) -> Pending:
    """Return what `avadm plan` would list of a site file; nothing is written, no node is asked.

    Raises:
        AvadmError: the certificates cannot be read.
    """
    desired = Desired.read(site_file, Keyring.open(site_file.path))
    steps = schedule(site_file.site, cluster.state, ())
    due = {step.name: [one.host for one in by_state(desired, cluster.state, step)] for step in steps}
    hosts = {host for found in due.values() for host in found}
    return Pending(
        tuple(name for name, found in due.items() if found),
        tuple(n.name for n in site_file.site.nodes if n.name in hosts),
    )


def follow(cluster: Cluster, site_file: SiteFile, tell: Tell) -> None:
    """Run all phases whose inputs a changed site file changed, on the nodes on which they did, as `avadm apply` does.

    Args:
        cluster: the site as it was opened; its records are kept on.
        site_file: the changed site file.
        tell: shows one line.

    Raises:
        AvadmError: a phase failed (exit 1), or could not begin.
        KeyboardInterrupt: it was stopped.
    """
    steps = schedule(site_file.site, cluster.state, ())
    run_phases(cluster, site_file, steps, Request("avadm apply"), tell, code="follow-failed")
