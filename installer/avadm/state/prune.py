"""Removes old run folders, and none that somebody may still need."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from avadm.state.run_folder import RunFolder, list_runs

KEEP = 100
"""Run folders that are kept; further ones go, the oldest first."""
DAYS = 90
"""Days after which a run folder goes, however few there are."""
REPORT_DAYS = 365
"""Days for which an acceptance report is kept, however many there are."""
AT_WORK_DAYS = 7
"""Days for which a run that left no summary, and wrote something meanwhile, counts as still at work."""
FOREVER = frozenset({"disk-zap"})
"""Verbs whose folders say who erased what: they are small, and no one else knows."""


def candidates(
    root: Path | None = None, keep: int = KEEP, days: float = DAYS, now: datetime | None = None
) -> list[RunFolder]:
    """Return the run folders that may go, oldest first.

    Args:
        root: folder of the run folders; the usual one where None.
        keep: how many are kept of those that are not old.
        days: after how many days they are old.
        now: the time; now where None.
    """
    now = now or datetime.now(UTC)
    every = list_runs(root)
    ages = {run.id: (now - run.started).total_seconds() / 86400 for run in every}
    beyond = {run.id for run in every[: max(0, len(every) - keep)]}
    old = [r for r in every if r.id in beyond or ages[r.id] > days]
    if not old:
        return []
    needed = _needed(every)
    return [
        run
        for run in old
        if run.id not in needed
        and run.verb not in FOREVER
        and not (run.verb == "accept" and ages[run.id] <= max(days, REPORT_DAYS))
        and not _at_work(run, now)
    ]


def prune(root: Path | None = None, keep: int = KEEP, days: float = DAYS) -> list[RunFolder]:
    """Remove what may go; return what was removed. A folder that cannot be removed stays for the next time."""
    gone = []
    for run in candidates(root, keep, days):
        # Renamed first: who looks meanwhile sees a whole run or none, and of two who prune one has it.
        away = run.path.with_name(f".pruned-{run.id}")
        with suppress(OSError):
            run.path.rename(away)
            gone.append(run)
    for left in [p for run in gone[:1] for p in run.path.parent.glob(".pruned-*")]:
        shutil.rmtree(left, ignore_errors=True)
    return gone


def _needed(every: list[RunFolder]) -> set[str]:
    """Return the runs that the newest state of each site names, and the last one of each site and verb."""
    last: dict[tuple[str | None, str], str] = {}
    site_states: dict[str | None, Mapping[str, Any]] = {}
    for run in every:
        last[run.site, run.verb] = run.id
        if site_state := run.read_mapping("ledger.json"):
            site_states[run.site] = site_state
    named = {
        str(entry.get("run"))
        for site_state in site_states.values()
        for hosts in _values(site_state.get("phases"))
        for entry in _values(hosts)
        if isinstance(entry, dict)
    }
    return named | set(last.values())


def _values(data: Any) -> list[Any]:
    return list(data.values()) if isinstance(data, dict) else []


def _at_work(run: RunFolder, now: datetime) -> bool:
    if (run.path / "summary.json").exists():
        return False
    times = [0.0]
    with suppress(OSError):
        times += [p.stat().st_mtime for p in (run.path, *run.path.iterdir())]
    since = min(now.timestamp(), time.time()) - max(times)
    return since < AT_WORK_DAYS * 86400
