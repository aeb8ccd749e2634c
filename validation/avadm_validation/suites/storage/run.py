"""Runs the storage suite: preconditions, checks, judgement, and all that it changed put back at the end."""

from __future__ import annotations

from collections.abc import Sequence

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites.storage.checks import CHECKS, MEASURED_FIRST, PRECONDITIONS
from avadm_validation.suites.storage.conditions import conditions
from avadm_validation.suites.storage.guard import Guard
from avadm_validation.suites.storage.space import needed
from avadm_validation.suites.storage.tools import tool_sources


def unfit(check: Check, target: Target) -> str:
    """Return why a check has nothing to measure at this site, "" where it has."""
    if check.NEEDS == "cephfs" and target.mount is None:
        return "the site has no cephfs"
    if check.NEEDS == "rbd" and target.pool is None:
        return "the site has no pool for block images"
    return ""


def execute(runner: Runner, only: Sequence[str] = ()) -> list[CheckResult]:
    """Run the checks (or those named) and return the results in the order of ``CHECKS``, preconditions first."""
    params = runner.efforts(__package__)
    chosen = [c for c in CHECKS if not only or c.ID in only]
    guard = Guard(runner.context("guard", {}))
    results: list[CheckResult] = []
    stayed: list[str] = []
    try:
        stayed += guard.enter(tool_sources())
        runner.shared["clock_offset"] = guard.clock_offset()
        # Scrubs are held off first: on a busy cluster some placement group is always being scrubbed.
        guard.quiet()
        writes = needed(runner.target, {c.ID: params[c.ID] for c in chosen})
        first = runner.one(PRECONDITIONS, {**params[PRECONDITIONS.ID], "writes": writes})
        results.append(first)
        for check in sorted(chosen, key=lambda c: c not in MEASURED_FIRST):
            results.append(runner.after(first, check, params[check.ID], unfit(check, runner.target)))
    finally:
        with shielded():
            runner.put_back([*stayed, *guard.leave()])
    place = {c.ID: i for i, c in enumerate((PRECONDITIONS, *CHECKS))}
    return sorted(results, key=lambda r: place[r.id])


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    prefix="",
    target="storage",
    execute=execute,
    conditions=conditions,
    lack=Lack(
        check="no-role",
        needs="nodes with the roles mon and client",
        key="nodes",
        found="none of one of them",
        wanted="at least one of each; two clients for what several do at once",
        remedy="Give nodes these roles and apply.",
    ),
)
