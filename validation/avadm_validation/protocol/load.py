"""The load of the machine while a check was made: what the looks of its raw file come to; pure, and again by ``verify``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from avadm_validation.protocol.criterion import Model

FILE = "raw/machine/load.jsonl"
"""The looks of a run, relative to the report's folder: a line of JSON each, in order of time."""


class Look(Model):
    """One look at the machine."""

    t: float
    """Epoch seconds."""
    slowdown: float
    """Time of a fixed computation, in times of that on an idle reference machine."""
    running: int
    """Tasks that run or wait for a core."""
    cpu: float
    """Seconds so far in which some task waited for a core (pressure stall information)."""
    io: float
    """The same for disks."""
    memory: float
    """The same for memory."""


class Machine(Model):
    """The load of the machine from the begin of a check to its end."""

    began: float
    """Epoch seconds."""
    ended: float
    """Epoch seconds."""
    slowdown: float
    """Mean of the looks, 1 at least: how many times slower than an idle reference machine it was."""
    peak: float
    """The slowest of three looks in a row, 1 at least: what a single slow sample may be due to."""
    running: float
    """Mean number of tasks that ran or waited for a core."""
    cpu: float
    """Share of the time in which some task waited for a core, 0 to 1."""
    io: float
    """The same for disks."""
    memory: float
    """The same for memory."""


def parse(text: str) -> list[Look]:
    """Return the looks of a raw file."""
    return [Look.model_validate(json.loads(line)) for line in text.split("\n") if line]


def between(looks: Sequence[Look], began: float, ended: float) -> Machine:
    """Return the load from ``began`` to ``ended``, by the looks in that time and the last one before it."""
    before = [x for x in looks if x.t < began][-1:]
    during = [x for x in looks if began <= x.t <= ended]
    found = during or before
    if not found:
        return Machine(began=began, ended=ended, slowdown=1, peak=1, running=0, cpu=0, io=0, memory=0)
    rows = [found[i : i + 3] for i in range(max(1, len(found) - 2))]
    all_of_it = [*before, *during]
    first, last = all_of_it[0], all_of_it[-1]
    seconds = last.t - first.t

    def share(now: float, then: float) -> float:
        return round(min(1.0, max(0.0, (now - then) / seconds)), 3) if seconds > 0 else 0.0

    return Machine(
        began=began,
        ended=ended,
        slowdown=round(_mean(found), 2),
        peak=round(max(map(_mean, rows)), 2),
        running=round(fmean(x.running for x in found), 1),
        cpu=share(last.cpu, first.cpu),
        io=share(last.io, first.io),
        memory=share(last.memory, first.memory),
    )


def recent(looks: Sequence[Look], since: float) -> float:
    """Return the mean slowdown of the looks since a time (of the last one where there is none since), 1 at least."""
    found = [x for x in looks if x.t >= since] or looks[-1:]
    return _mean(found) if found else 1.0


def _mean(looks: Sequence[Look]) -> float:
    return max(1.0, fmean(x.slowdown for x in looks))


def words(machine: Machine) -> str:
    """Return a load in words, for a reader of the report."""
    return (
        f"{machine.slowdown:.1f} times slower than an idle reference machine (peak {machine.peak:.1f}); "
        f"{machine.running:.0f} tasks running or waiting for a core; some task waited for a core "
        f"{machine.cpu:.0%} of the time, for a disk {machine.io:.0%}, "
        f"for memory {machine.memory:.0%}"
    )
