"""The part of an operation that brings nodes up to date with a changed site file, under the lock that it holds already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.drift.detection import by_state
from avadm.engine.recorder import Display
from avadm.engine.request import Notes, Request, Show
from avadm.engine.run import execute
from avadm.engine.session import Session, schedule
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.inventory.desired import Desired, Keyring
from avadm.operations.model import Tell
from avadm.plan.graph import ScheduledPhase
from avadm.remote.events import Event, Kind
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.state.records import SiteRecords


class Lines:
    """Shows a run as one line for each phase that ends."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put right."""

    def __call__(self, event: Event) -> None:
        """Show the end of a phase, and why a node failed."""
        if event.kind is Kind.PHASE_END:
            self._tell(f"    {event.phase}: {event.message} ({event.seconds or 0:.0f} s)")
        elif event.kind in (Kind.FAILED, Kind.UNREACHABLE):
            self._tell(f"    {event.phase}: {event.host}: {event.message.partition(chr(10))[0] or 'failed'}")


def shown(tell: Tell) -> Show:
    """Return what shows a run by lines."""

    def make(site: Site, steps: Sequence[ScheduledPhase]) -> Display:
        return Lines(tell)

    return make


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
    """
    if cluster.replica is None:
        raise RuntimeError("the site's lock is not held")
    records = SiteRecords(cluster.state, cluster.replica.snapshots)
    session = Session(site_file, Keyring.open(site_file.path), records, cluster.replica)
    steps = schedule(site_file.site, cluster.state, ())
    data = execute(session, steps, "apply", Request("avadm apply"), Notes(tell), shown(tell))
    if data["result"] != "good":
        raise AvadmError(
            finding("follow-failed", where=str(data["log"]), found=str(data["result"])), EXIT_FOUND_BAD
        )
