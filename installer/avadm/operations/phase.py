"""One phase of the installer on one node, as a step of an operation: under the lock that the operation holds already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.engine.request import Notes, Request
from avadm.engine.run import execute
from avadm.engine.session import Session
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.inventory.desired import Keyring
from avadm.operations.follow import shown
from avadm.operations.model import Tell
from avadm.plan.graph import make_plan
from avadm.site.load import SiteFile
from avadm.state.records import SiteRecords


def run_phase(
    cluster: Cluster,
    site_file: SiteFile,
    phase: str,
    node: str,
    own: Mapping[str, Any],
    tell: Tell,
    command: str,
) -> None:
    """Run a phase on a node alone, whatever is known of it.

    Args:
        cluster: the site as the operation opened it; its records are kept on.
        site_file: the site file, which a step may have changed meanwhile.
        phase: the phase's name.
        node: the node's name.
        own: variables of the node for this run alone.
        tell: shows one line.
        command: what continues it.

    Raises:
        AvadmError: it could not begin, or failed (exit 1).
        KeyboardInterrupt: it was canceled.
    """
    if cluster.replica is None:
        raise RuntimeError("the site's lock is not held")

    cluster.state.settle()
    records = SiteRecords(cluster.state, cluster.replica.snapshots)
    session = Session(site_file, Keyring.open(site_file.path), records, cluster.replica)
    steps = make_plan(site_file.site, [phase], limit=[node])
    request = Request(command, [phase], [node], own={node: own})
    data = execute(session, steps, "apply", request, Notes(tell), shown(tell))
    if data["result"] == "canceled":
        raise KeyboardInterrupt
    if data["result"] != "good":
        raise AvadmError(
            finding("phase-failed", where=str(data["log"]), found=str(data["result"]), phase=phase),
            EXIT_FOUND_BAD,
        )
