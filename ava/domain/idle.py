"""When an idle workbench is stopped: pure rules.

Somebody works in it while a browser is connected to it or an ssh session is open, or while it uses processors or GPUs. What is
not known for sure is never taken for idleness.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ava.domain.model import Run
from ava.domain.workbench import Workbench

GAP = timedelta(minutes=10)
"""After so long without a look, or without a word of the ssh gateway, what happened meanwhile is not known."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A site's rule.

    Attributes:
        after: since somebody was last seen at work.
        warning: how long before the stop the user is notified.
    """

    after: timedelta
    warning: timedelta


class Step(StrEnum):
    """What is to be done about a workbench."""

    NOTHING = "nothing"
    ACTIVE = "active"
    """Somebody is at work: the time begins again."""
    WARN = "warn"
    STOP = "stop"


def last_seen(run: Run, bench: Workbench) -> datetime:
    """Return when somebody was last seen at work in a workbench; its start counts."""
    return max(at for at in (run.admitted or run.created, bench.active) if at is not None)


def step(run: Run, bench: Workbench, rule: Rule, now: datetime, *, busy: bool | None) -> Step:
    """Return what is to be done; ``busy``: whether it uses processors or GPUs, None: unknown."""
    if busy:
        return Step.ACTIVE
    if busy is None or now - last_seen(run, bench) < rule.after - rule.warning:
        return Step.NOTHING
    if bench.warned is None or bench.warned < last_seen(run, bench):
        return Step.WARN
    ends = now - bench.warned >= rule.warning and now - last_seen(run, bench) >= rule.after
    return Step.STOP if ends else Step.NOTHING
