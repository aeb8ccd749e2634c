"""What is to be done about a service's replicas: rolling updates, scaling by hand and by load. Pure rules.

A service is one run whose replicas are pods of *revisions*: each change of the definition is a further revision. The
target is the revision that is wanted, the settled one that which last was there with all replicas ready.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ava.domain import labels
from ava.domain.spec import Scaling

Name = tuple[int, int]
"""Revision and index of a replica."""
SURGE = 4
"""While it is updated a service has a quarter more replicas at most, at least one more."""
TOLERANCE = 0.1
"""By load nothing is changed while it is this near the target."""
GROWS_AFTER, SHRINKS_AFTER = timedelta(seconds=30), timedelta(seconds=300)
"""Since the last change of the number; shrinking waits longer, for what was started has to warm up again."""
SAME_PODS = ("priority", "queue", "time_limit")
"""Parts of a definition whose change needs no new pods; besides them the number of replicas, bounds and who may call."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One pod of a service.

    Attributes:
        ready: requests are sent to it.
        ending: it is being taken away already.
        ended: it will not come back by itself (evicted, its node lost).
        bad: it has had time enough to be ready, or never will be.
        leaving: its node is drained; it goes once another one serves in its place.
        due: it was given all the time for that which there is.
    """

    revision: int
    index: int
    ready: bool = False
    ending: bool = False
    ended: bool = False
    bad: bool = False
    leaving: bool = False
    due: bool = False

    @property
    def name(self) -> Name:
        """Return what tells it apart."""
        return self.revision, self.index


@dataclass(frozen=True, slots=True)
class Service:
    """What the database wants of a service.

    Attributes:
        wanted: replicas.
        target, settled: revisions.
        since: when the target was set.
        scaled: when ``wanted`` last changed.
        address: the first label of its host name.
    """

    run: str
    wanted: int
    target: int
    settled: int
    since: datetime
    scaled: datetime
    trouble: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step.

    Attributes:
        create: replicas to make, the most needed first.
        remove: replicas to take out of service.
        settled: whether the target's replicas are all there and ready and no others are.
        stalled: whether the update goes no further, for its new replicas do not become ready.
    """

    create: tuple[Name, ...] = ()
    remove: tuple[Name, ...] = ()
    settled: bool = False
    stalled: bool = False


@dataclass(slots=True)
class _Look:
    """The replicas of one moment, sorted out."""

    all: Sequence[Replica]
    target: int
    live: list[Replica] = field(init=False)
    new: list[Replica] = field(init=False)
    old: list[Replica] = field(init=False)

    def __post_init__(self) -> None:
        self.live = [r for r in self.all if not r.ending and not r.ended and not r.due]
        self.new = [r for r in self.live if r.revision == self.target]
        self.old = [r for r in self.live if r.revision != self.target]

    def ready(self) -> int:
        return sum(r.ready for r in self.live)


def surge(wanted: int) -> int:
    """Return how many replicas more than wanted there may be while a service is updated."""
    return max(1, wanted // SURGE)


def plan(service: Service, replicas: Iterable[Replica]) -> Plan:
    """Return the next step from what is there; asked again after each change, it comes to the target or stalls.

    No step takes away a ready replica unless as many as are wanted stay ready, or its node has been drained for long
    (``due``), and none of an earlier revision goes before a new one is ready. Replicas that died during an update that has
    not proven itself come back as they were.
    """
    look = _Look(list(replicas), service.target)
    gone = [r.name for r in look.all if (r.ended or r.due) and not r.ending]
    if not look.old and service.target == service.settled:
        return _steady(service, look, gone)
    proven = any(r.ready for r in look.new)
    stalled = any(r.bad and not r.ready for r in look.new)
    remove = [*gone, *_superfluous(service, look, proven)]
    create = _wanted(service, look, proven, stalled)
    there = [r for r in look.all if r.revision != service.target]
    settled = not there and sum(r.ready for r in look.new) >= service.wanted
    return Plan(tuple(create), tuple(remove), settled, stalled)


def _steady(service: Service, look: _Look, gone: list[Name]) -> Plan:
    staying = [r for r in look.new if not r.leaving]
    excess = _worst(staying)[: max(0, len(staying) - service.wanted)]
    ready = look.ready() - sum(r.ready for r in excess)
    for replica in _worst(r for r in look.new if r.leaving):
        # One that does not serve may be about to: it goes no earlier than one that does.
        if ready - replica.ready >= service.wanted:
            excess.append(replica)
            ready -= replica.ready
    lacking = service.wanted - len(look.new)
    room = service.wanted + surge(service.wanted) - len(look.all)
    create = _free(look.all, service.target, max(lacking, min(service.wanted - len(staying), room)))
    settled = sum(r.ready for r in staying) >= service.wanted and len(staying) == len(look.new)
    return Plan(tuple(create), (*gone, *(r.name for r in excess)), settled)


def _superfluous(service: Service, look: _Look, proven: bool) -> list[Name]:
    """Return which of the living replicas go now."""
    found = _worst(look.new)[: max(0, len(look.new) - service.wanted)]
    ready, live = look.ready() - sum(r.ready for r in found), len(look.live) - len(found)
    for replica in _worst(look.old):
        # One that does not serve makes room: at once where its revision was given up before it was settled, else when the new
        # one has shown that it serves.
        idle = replica.revision != service.settled or (proven and live > service.wanted)
        may = ready > service.wanted if replica.ready else idle
        if may:
            found.append(replica)
            ready, live = ready - replica.ready, live - 1
    return [r.name for r in found]


def _wanted(service: Service, look: _Look, proven: bool, stalled: bool) -> list[Name]:
    """Return which replicas are made now, all pods that are still there counted."""
    room = service.wanted + surge(service.wanted) - len(look.all)
    lost = service.wanted - len(look.old) - sum(r.ready for r in look.new)
    if not proven and service.target != service.settled and lost > 0:
        return _free(look.all, service.settled, min(lost, room))
    if stalled:
        return []
    untried = service.wanted if proven or not look.old else surge(service.wanted)
    return _free(look.all, service.target, min(untried, service.wanted) - len(look.new), room)


def _worst(some: Iterable[Replica]) -> list[Replica]:
    """Return replicas in the order in which they are missed least."""
    return sorted(some, key=lambda r: (r.ready, not r.leaving, -r.revision, -r.index))


def _free(there: Iterable[Replica], revision: int, count: int, most: int | None = None) -> list[Name]:
    """Return the first names of a revision that no pod has."""
    count = count if most is None else min(count, most)
    taken = {r.index for r in there if r.revision == revision}
    return [(revision, i) for i in range(max(0, count) + len(taken)) if i not in taken][: max(0, count)]


def scaled(service: Service, bounds: Scaling, rate: float | None, now: datetime) -> int:
    """Return how many replicas a service shall have by its load.

    Args:
        service: as it is.
        bounds: its definition's.
        rate: requests a second that all its replicas together were sent; None where that is not known, which changes
            nothing.
        now: the time, UTC.
    """
    wanted = clamp(service.wanted, bounds)
    if wanted != service.wanted or rate is None or bounds.requests is None:
        return wanted
    ratio = rate / bounds.requests / wanted
    if abs(ratio - 1.0) <= TOLERANCE:
        return wanted
    # At most twice as many at once: a burst must not take a group's whole quota.
    aim = clamp(min(math.ceil(wanted * ratio), 2 * wanted), bounds)
    wait = GROWS_AFTER if aim > wanted else SHRINKS_AFTER
    return aim if now - service.scaled >= wait else wanted


def clamp(count: int, bounds: Scaling | None) -> int:
    """Return a number of replicas within the bounds."""
    return count if bounds is None else max(bounds.least, min(bounds.most, count))


def same_pods(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two definitions (as JSON) make the same pods."""
    return _of_pods(one) == _of_pods(other)


def _of_pods(spec: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in spec.items() if key not in SAME_PODS}
    kept["roles"] = [
        {k: v for k, v in role.items() if k not in ("replicas", "policy", "ends_run")}
        for role in spec.get("roles") or []
    ]
    serving = spec.get("serving") or {}
    kept["serving"] = {k: v for k, v in serving.items() if k not in ("scaling", "access")}
    return kept


def address(owner: str, name: str) -> str:
    """Return the first label of a new service's host name: at most 61 characters, of which 80 bits are the service's alone."""
    return f"{labels.short(name, limit=40)}-{_digest(owner, name)[:20]}"


def former_address(owner: str, name: str) -> str:
    """Return the label of a service that first ran when labels had 40 bits: it keeps its name."""
    return f"{labels.short(name, limit=40)}-{_digest(owner, name)[:10]}"


def _digest(owner: str, name: str) -> str:
    return hashlib.sha256(f"{owner}/{name}".encode()).hexdigest()
