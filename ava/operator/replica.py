"""One pod of a service, as the rules of domain/serving.py look at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from ava.domain import labels, pod_failures, pod_status
from ava.domain.model import Kind, PodState
from ava.domain.model_services import Name, Replica
from ava.domain.node_drains import NodeDrain, leaves_at
from ava.domain.resources import FIELDS, Resources
from ava.domain.spec import Spec
from ava.kube.client import Object

LATE = timedelta(seconds=30)
"""Beside the time that a definition gives a replica to start: for its place and its image."""
CRASHES = 3
"""So often a replica may end before it is called bad."""


def name(pod: Object) -> Name:
    """Return revision and index."""
    marks = pod["metadata"]["labels"]
    return int(marks.get(labels.ATTEMPT) or 0), int(marks.get(labels.INDEX) or 0)


def replica(
    name: Name,
    pod: Object,
    states: Mapping[str, PodState],
    spec: Spec,
    now: datetime,
    drain: NodeDrain | None = None,
) -> Replica:
    """Return what the rules look at; ``states`` are by pod, ``drain`` is its node's."""
    meta = pod["metadata"]
    state = states[meta["name"]]
    serves = (meta.get("labels") or {}).get(labels.SERVES) == "true"
    born = pod_status.moment(meta.get("creationTimestamp")) or now
    starts = spec.serving.starts_in if spec.serving is not None else 0
    late = now - born > timedelta(seconds=starts) + LATE
    at = leaves_at(drain, Kind.SERVICE, consented=False) if drain is not None else None
    bad = late or state.restarts >= CRASHES or pod_failures.hopeless(state.reason, state.message)
    return Replica(
        *name,
        ready=state.ready,
        ending=bool(meta.get("deletionTimestamp")) or not serves,
        ended=state.phase in (*pod_status.ENDED, "Unknown"),
        bad=bad and not state.ready,
        leaving=drain is not None,
        due=at is not None and now >= at,
    )


def is_drained(pod: Object, now: datetime, seconds: float) -> bool:
    """Return whether a replica was out of service for so long that it may go."""
    meta = pod["metadata"]
    since = (meta.get("annotations") or {}).get(labels.DRAINED)
    if since is None or meta.get("deletionTimestamp"):
        return False
    return now - datetime.fromisoformat(since) >= timedelta(seconds=seconds)


def since(state: PodState, known: PodState | None) -> PodState:
    """Return a state with the time since when it is so."""
    same = known is not None and replace(state, seen=known.seen) == known
    return known if same and known is not None else state


def asks(specs: Iterable[Spec]) -> Resources:
    """Return what replicas of these definitions ask for together."""
    total = Resources()
    for spec in specs:
        total = total.plus(spec.roles[0].each.resources())
    return total


def most(one: Resources, other: Resources) -> Resources:
    """Return the larger of each amount."""
    return Resources(*(max(getattr(one, name), getattr(other, name)) for name in FIELDS))
