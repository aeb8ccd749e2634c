"""What clients saw of a database, and whether any database that keeps its quotas could have answered so (Jepsen's way).

Each operation takes effect at one instant between its start and its end, if it was acknowledged; if its answer was lost it may
have taken effect at any instant from its start on, or never. So at each instant there is an amount that runs *certainly* have
(admitted before it, and no one had yet begun to end them) and a limit that was *possibly* in force. The first over the second
is a quota that was exceeded, whatever happened in between; nothing that is right is ever reported. The times that the database
itself writes are not used: they are the callers' clocks from before the transactions waited for each other.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf

from ava.db.database import Database
from ava.domain.amounts import UNLIMITED
from ava.domain.model import Quota, Run
from ava.domain.problems import ApiError
from ava.domain.quota import whole
from ava.domain.resources import FIELDS, Resources


@dataclass
class Operation:
    """Something that was asked of the database.

    Attributes:
        kind: ``admit``, ``finish`` or ``quota``.
        object: the run's id, or ``group NAME``, ``queue NAME``.
        end: when it was answered; infinite where the answer was lost.
        done: whether it was carried out; None where that is not known.
    """

    kind: str
    object: str
    start: float
    end: float = inf
    done: bool | None = None
    quota: Quota | None = None


@dataclass
class History:
    """Operations of all clients, in any order."""

    operations: list[Operation] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def submitted(self, run: Run) -> None:
        """Remember what a run asks for and from whom."""
        with self._lock:
            self.runs[run.id] = run

    @contextmanager
    def operation(self, kind: str, object: str, quota: Quota | None = None) -> Iterator[Operation]:
        """Record what is done inside; who does it says in ``done`` whether it was carried out.

        A refusal other than 503 means that nothing was done. Anything else that is raised leaves that open.
        """
        operation = Operation(kind, object, time.monotonic(), quota=quota)
        with self._lock:
            self.operations.append(operation)
        try:
            yield operation
        except ApiError as refusal:
            if refusal.status == 503:
                operation.done = None
                raise
            operation.done, operation.end = False, time.monotonic()
        except BaseException:
            operation.done = None
            raise
        else:
            operation.end = time.monotonic()

    def of(self, kind: str) -> list[Operation]:
        """Return the operations of a kind, by their start."""
        return sorted((o for o in self.operations if o.kind == kind), key=lambda o: o.start)


def overruns(history: History, limits: dict[str, Quota]) -> list[str]:
    """Return each instant at which runs certainly had more than any limit that was possibly in force.

    Args:
        history: what clients did; all changes of quotas are in it.
        limits: the quotas at the beginning, by ``group NAME`` and ``queue NAME``.
    """
    first_end = _first_ends(history)
    events: list[tuple[float, int, Run]] = []
    for run, since in _acknowledged(history).items():
        until = first_end.get(run, inf)
        if since < until:
            # At one instant what is given back goes first: only certain overlap counts.
            events += [(since, 1, history.runs[run]), (until, -1, history.runs[run])]
    held = {whose: Resources() for whose in limits}
    found = []
    for instant, sign, run in sorted(events, key=lambda e: (e[0], e[1])):
        for whose in (f"group {run.group}", f"queue {run.queue}"):
            if whose not in limits:
                continue
            held[whose] = held[whose].plus(run.asks.times(sign))
            if sign > 0 and (over := held[whose].lacking(_possible(history, whose, limits[whose], instant))):
                found.append(
                    f"{instant:.6f}: {whose} has {held[whose]}, too much {', '.join(over)}, with {run.id}"
                )
    return found


def disagreements(history: History, db: Database) -> list[str]:
    """Return where the database, at rest, contradicts what it had acknowledged: lost, doubled or invented charges."""
    charges, after = [], None
    while page := db.charges.list(after=after):
        charges += page
        after = page[-1].id
    by_run = Counter(c.run for c in charges)
    ended = {c.run for c in charges if c.ended is not None}
    tried = {o.object for o in history.of("admit") if o.done is not False}
    found = [f"{run} is charged {n} times" for run, n in by_run.items() if n > 1]
    found += [f"{run} was admitted and is not charged" for run in _acknowledged(history) if run not in by_run]
    found += [
        f"{run} is charged and was not admitted" for run in by_run if run in history.runs and run not in tried
    ]
    finished = {o.object for o in history.of("finish") if o.done}
    maybe = {o.object for o in history.of("finish") if o.done is not False}
    found += [f"{run} has ended and is charged still" for run in finished & set(by_run) - ended]
    found += [
        f"the charge of {run} has ended without an end of the run"
        for run in ended & set(history.runs) - maybe
    ]
    return found + sums(db, charges)


def sums(db: Database, charges: Sequence) -> list[str]:
    """Return where what a group or queue uses is not the sum of its open charges, or more than its quota."""
    groups, after = [], None
    while True:
        page = db.groups.list(after=after, limit=1000)
        groups += page.items
        if (after := page.next) is None:
            break
    found = []
    for shared, part in [(g, "group") for g in groups] + [(q, "queue") for q in db.queues.list()]:
        total = Resources()
        for charge in charges:
            if charge.ended is None and getattr(charge, part) == shared.name:
                total = total.plus(charge.amount)
        if shared.used != total:
            found.append(f"{part} {shared.name} uses {shared.used} and its open charges are {total}")
        if total.lacking(whole(shared.quota)):
            found.append(f"{part} {shared.name} has {total} of {shared.quota}")
    return found


def _acknowledged(history: History) -> dict[str, float]:
    """Return runs whose admission was acknowledged, with the first instant at which that was so."""
    found: dict[str, float] = {}
    for operation in history.of("admit"):
        if operation.done:
            found[operation.object] = min(operation.end, found.get(operation.object, inf))
    return found


def _first_ends(history: History) -> dict[str, float]:
    """Return runs that somebody tried to end, with the first instant at which that may have been done."""
    found: dict[str, float] = {}
    for operation in history.of("finish"):
        if operation.done is not False:
            found.setdefault(operation.object, operation.start)
    return found


def _possible(history: History, whose: str, initial: Quota, instant: float) -> Resources:
    """Return the most that a quota may have allowed at an instant."""
    changes = [o for o in history.of("quota") if o.object == whose and o.done is not False]
    most = Resources(*(0 for _ in FIELDS))
    for quota, start, end in [(initial, -inf, -inf)] + [
        (o.quota or initial, o.start, o.end) for o in changes
    ]:
        # It is in force no more once a later change that was carried out has been acknowledged.
        over = min((o.end for o in changes if o.done and o.start >= end), default=inf)
        if start <= instant <= over:
            most = Resources(*(max(a, b) for a, b in zip(most, whole(quota), strict=True)))
    return Resources(*(min(value, UNLIMITED) for value in most))
