"""What summary.json of a run folder holds; every verb's run is written and read here."""

from __future__ import annotations

from typing import TypedDict, cast

from avadm.state.run_folder import RunFolder

NAME = "summary.json"
Counts = dict[str, int]
"""``ok``, ``changed``, ``failed``, ``unreachable`` and ``skipped`` to the number of tasks."""


class PhaseSummary(TypedDict):
    """One phase, or one check of an acceptance run, whose state is its verdict."""

    name: str
    state: str
    seconds: float
    ok: int
    changed: int
    failed: int
    unreachable: int
    skipped: int
    note: str
    because: list[str]
    hosts: dict[str, Counts]


class FailureSummary(TypedDict):
    """One task that failed on a host; without a host the phase as a whole."""

    phase: str
    host: str | None
    task: str
    message: str
    stdout: str
    stderr: str
    unreachable: bool
    remedy: str


class Change(TypedDict):
    """One task that changed something, and where."""

    phase: str
    task: str
    hosts: list[str]


class SlowTask(TypedDict):
    """One task, its slowest host and the seconds there."""

    phase: str
    task: str
    host: str
    seconds: float


class RunSummary(TypedDict, total=False):
    """A whole run; one of `disk zap` has only the first five."""

    site: str
    result: str
    changed: int
    seconds: float
    run: str | None
    verb: str
    started: str
    check: bool
    hosts: dict[str, Counts]
    phases: list[PhaseSummary]
    failures: list[FailureSummary]
    dead: list[str]
    changes: list[Change]
    slowest: list[SlowTask]
    log: str | None
    next: str
    report: str | None


def write(folder: RunFolder, summary: RunSummary) -> None:
    """Keep the summary in the run's folder."""
    folder.write_json(NAME, summary)


def read(folder: RunFolder) -> RunSummary:
    """Return the summary of a run; an empty one where it has none (it runs still, or was killed)."""
    return cast(RunSummary, folder.read_mapping(NAME))
