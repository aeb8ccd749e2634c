"""Nodes that are drained: when the pods of each kind of run leave one, and what their owners read of it. Pure rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ava.domain.compat import dataclass
from ava.domain.model import Kind, PodState, Run
from ava.domain.phrases import Phrase
from ava.domain.pod_status import ENDED

LEAST_FOR_SERVICES = timedelta(minutes=10)
"""A service has so long at least for a replica elsewhere, however short the notice: its users must not notice the drain."""
LONGEST_NOTICE = timedelta(days=7)
NOTICE, WITHDRAWN = "run-node-drain", "run-node-drain-withdrawn"
"""Kinds of the notices to owners."""
REASON = "node-maintenance"
"""Code of the reason that a run shows while its node is drained."""


@dataclass(frozen=True, slots=True)
class NodeDrain:
    """A node that its runs shall leave.

    Attributes:
        asked_by: the administrator's name.
        begun: when the owners were notified first.
        until: when workbenches stop, and services' replicas that have none elsewhere.
        runs_until: when trainings are ended whose owners have not agreed; None: they end by themselves.
    """

    cluster: str
    node: str
    asked_by: str
    begun: datetime
    until: datetime
    runs_until: datetime | None = None


def leaves_at(drain: NodeDrain, kind: Kind, consented: bool) -> datetime | None:
    """Return when a run (of a service: its replicas) leaves the node at the latest; None: when it ends by itself."""
    if kind is Kind.WORKBENCH:
        return drain.until
    if kind is Kind.SERVICE:
        return max(drain.until, drain.begun + LEAST_FOR_SERVICES)
    times = [drain.runs_until, drain.until if consented else None]
    return min((time for time in times if time is not None), default=None)


def nodes_of(run: Run, pods: Sequence[PodState]) -> set[str]:
    """Return the nodes on which a run has pods that have not ended; those of earlier attempts are left out, of services not."""
    return {
        pod.node
        for pod in pods
        if pod.node and pod.phase not in ENDED and (run.kind is Kind.SERVICE or pod.attempt == run.attempt)
    }


def first(drains: Sequence[NodeDrain], kind: Kind, consented: bool) -> NodeDrain | None:
    """Return the drain of several nodes that a run has to leave first; None for none."""

    def order(drain: NodeDrain) -> tuple[bool, datetime, str]:
        at = leaves_at(drain, kind, consented)
        return at is None, at or drain.until, drain.node

    return min(drains, key=order, default=None)


def notice(drain: NodeDrain, kind: Kind, consented: bool) -> Phrase:
    """Return what the owner of a run reads."""
    at = leaves_at(drain, kind, consented)
    time = f"{at or drain.until:%Y-%m-%d %H:%M} UTC"
    if kind is Kind.WORKBENCH:
        return Phrase(
            "Node maintenance: the workbench stops at {time}, since its node {node} is drained. Its disk and the home stay.",
            node=drain.node,
            time=time,
        )
    if kind is Kind.SERVICE:
        return Phrase(
            "Node maintenance: the replicas on node {node} move to other nodes, at {time} at the latest.",
            node=drain.node,
            time=time,
        )
    if at is not None:
        return Phrase(
            "Node maintenance: the training is ended at {time}, since its node {node} is drained.",
            node=drain.node,
            time=time,
        )
    return Phrase(
        "Node maintenance: its node {node} is drained once the training has ended.", node=drain.node
    )


def remedy(drain: NodeDrain, kind: Kind, consented: bool) -> Phrase:
    """Return what the owner of a run can do."""
    if kind is Kind.WORKBENCH:
        return Phrase("Save your work, and start the workbench again afterwards.")
    if kind is Kind.SERVICE:
        return Phrase("Nothing is to be done while the quota has room for one more replica.")
    if leaves_at(drain, kind, consented) is not None:
        return Phrase("Write a checkpoint before, and start the training again afterwards.")
    return Phrase("Agree to its end (`ava consent`), stop it, or let it end by itself.")


def stopped(drain: NodeDrain) -> Phrase:
    """Return why a run was stopped for a drain."""
    return Phrase("Stopped for maintenance of node {node}.", node=drain.node)
