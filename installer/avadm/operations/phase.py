"""Phases of the installer as a step of an operation: under the lock that it holds already, one line for each that ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.engine.recorder import Display
from avadm.engine.request import Notes, Request, Show
from avadm.engine.run import execute
from avadm.engine.session import Session
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.inventory.desired import Keyring
from avadm.operations.model import Tell
from avadm.plan.graph import ScheduledPhase, make_plan
from avadm.remote.events import Event, Kind
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.state.records import SiteRecords


def run_phases(
    cluster: Cluster,
    site_file: SiteFile,
    steps: Sequence[ScheduledPhase],
    request: Request,
    tell: Tell,
    *,
    code: str,
    verb: str = "apply",
    **fields: Any,
) -> None:
    """Run phases as `avadm apply` does.

    Args:
        cluster: the site as the operation opened it; its records are kept on.
        site_file: the site file, which a step may have changed meanwhile.
        steps: the phases, in order.
        request: how they are asked for.
        tell: shows one line.
        code: of the finding where one fails.
        verb: names the run folder.
        fields: what else `finding` is given for it.

    Raises:
        AvadmError: they could not begin, or one failed (exit 1).
        KeyboardInterrupt: they were stopped, which is no failure: the same command continues, and nothing is taken back.
    """
    if cluster.replica is None:
        raise RuntimeError("the site's lock is not held")
    cluster.state.settle()
    records = SiteRecords(cluster.state, cluster.replica.snapshots)
    session = Session(site_file, Keyring.open(site_file.path), records, cluster.replica)
    data = execute(session, list(steps), verb, request, Notes(tell), _shown(tell))
    if data["result"] == "canceled":
        raise KeyboardInterrupt
    if data["result"] != "good":
        found = finding(code, where=str(data["log"]), found=str(data["result"]), **fields)
        raise AvadmError(found, EXIT_FOUND_BAD)


def run_phase(
    cluster: Cluster,
    site_file: SiteFile,
    phase: str,
    node: str,
    own: Mapping[str, Any],
    tell: Tell,
    command: str,
) -> None:
    """Run a phase on a node alone, whatever is known of it, with variables of its own; as `run_phases`.

    Args:
        cluster: as of `run_phases`.
        site_file: as of `run_phases`.
        phase: the phase's name.
        node: the node's name.
        own: variables of the node for this run alone.
        tell: shows one line.
        command: what continues it.
    """
    steps = make_plan(site_file.site, [phase], limit=[node])
    request = Request(command, [phase], [node], own={node: own})
    run_phases(cluster, site_file, steps, request, tell, code="phase-failed", phase=phase)


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
        elif event.kind in (Kind.FAILED, Kind.UNREACHABLE, Kind.CHECK):
            self._tell(f"    {event.phase}: {event.host}: {event.message.partition(chr(10))[0] or 'failed'}")


def _shown(tell: Tell) -> Show:
    def make(site: Site, steps: Sequence[ScheduledPhase]) -> Display:
        return Lines(tell)

    return make
