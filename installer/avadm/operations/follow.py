"""The part of an operation that brings nodes up to date with a changed site file, under the lock that it holds already."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from avadm.cluster.connection import Cluster
from avadm.drift.detection import by_state
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.inventory.desired import Desired, Keyring
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.plan.graph import make_plan, select
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


def follow(
    cluster: Cluster,
    site_file: SiteFile,
    tell: Tell,
    without: Collection[str] = (),
    own: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Run all phases whose inputs a changed site file changed, on the nodes on which they did, as `avadm apply` does.

    Args:
        cluster: the site as it was opened; its records are kept on.
        site_file: the changed site file.
        tell: shows one line.
        without: nodes that are not touched: they are dead.
        own: node to variables of its own: these nodes alone are done then, whatever is known of them.

    Raises:
        AvadmError: a phase failed (exit 1), or could not begin.
        KeyboardInterrupt: it was stopped.
    """
    names = own or [n.name for n in site_file.site.nodes if n.name not in without]
    limit = list(names) if own or without else []
    steps = schedule(site_file.site, cluster.state, (), limit)
    request = Request("avadm apply", limit=limit, own=own or {})
    run_phases(cluster, site_file, steps, request, tell, code="follow-failed")


def bring(
    cluster: Cluster, site_file: SiteFile, phases: Sequence[str], nodes: Sequence[str], tell: Tell
) -> None:
    """Run some phases on some nodes with a site file that is not written yet; those that have none of them are left out.

    Args:
        cluster: the site as it was opened; its records are kept on.
        site_file: the site file as it will be.
        phases: names of phases.
        nodes: names of the nodes that may be touched.
        tell: shows one line.

    Raises:
        AvadmError: a phase failed (exit 1), or could not begin.
        KeyboardInterrupt: it was stopped.
    """
    due = [one.name for one in select(phases) if set(one.hosts(site_file.site)) & set(nodes)]
    if due:
        known = [n.name for n in site_file.site.nodes if n.name in nodes]
        steps = make_plan(site_file.site, due, limit=known)
        run_phases(cluster, site_file, steps, Request("avadm apply", due, known), tell, code="follow-failed")
