"""What a run has, and since when: all it asks for, from when all its pods have nodes until the last of them is gone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from ava.domain.model import PodState, Run
from ava.domain.pod_status import ENDED
from ava.domain.resources import Resources
from ava.domain.spec import Spec


class Allocation(NamedTuple):
    """An amount, since when, and until when; ``until`` None: it continues."""

    amount: Resources
    since: datetime | None = None
    until: datetime | None = None


def of_run(
    run: Run, spec: Spec, states: Mapping[tuple[str, int], PodState], held: bool, now: datetime
) -> Allocation | None:
    """Return what a run has; None: as before.

    Args:
        run: admitted.
        spec: the run's.
        states: what is known of the places of its present attempt.
        held: whether some pod of it, of whatever attempt, is on a node and has not ended.
        now: the time, UTC.
    """
    wanted = [states.get((role.name, index)) for role in spec.roles for index in range(role.replicas)]
    known = [state for state in wanted if state is not None and state.node]
    placed = len(known) == len(wanted)
    since = _last([state.placed or state.started for state in known]) if placed else None
    if held:
        return Allocation(run.asks, since or now) if placed else None
    until = _last([state.ended if state.phase in ENDED else None for state in known]) if placed else None
    return Allocation(run.asks, since, until or now) if placed else Allocation(Resources(), None, now)


def _last(times: list[datetime | None]) -> datetime | None:
    """Return the last of several times; None where one is not known."""
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None
