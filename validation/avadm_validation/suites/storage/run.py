"""The storage suite: preconditions, checks, and all that it changed put back at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from avadm_validation.measuring.check import Check
from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.schedule import Session
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.measuring.targets import Target
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites.storage.checks import (
    BESIDE,
    CHECKS,
    MEASURED_FIRST,
    PRECONDITIONS,
    SHOW_TIMES,
)
from avadm_validation.suites.storage.conditions import conditions
from avadm_validation.suites.storage.guard import Guard
from avadm_validation.suites.storage.measure import remove_aside
from avadm_validation.suites.storage.space import needed
from avadm_validation.suites.storage.tools import tool_sources


def unfit(check: Check, target: Target) -> str:
    """Return why a check has nothing to measure at this site, "" where it has."""
    if check.NEEDS == "cephfs" and target.mount is None:
        return "the site has no cephfs"
    if check.NEEDS == "rbd" and target.pool is None:
        return "the site has no pool for block images"
    return ""


@contextmanager
def session(runner: Runner, only: Sequence[str] = ()) -> Iterator[Session]:
    """Hold scrubs off, put the tools on the clients, look at the preconditions; put all of it back."""
    params = runner.efforts(__package__)
    chosen = [c for c in CHECKS if not only or c.ID in only]
    shows = SHOW_TIMES if runner.target.kind == "site" else ()
    beside = [[c for c in stage if c not in shows] for stage in BESIDE]
    guard = Guard(runner.context("guard", {}))
    stayed: list[str] = []

    def one(check: Check) -> CheckResult:
        return runner.after(first, check, params[check.ID], unfit(check, runner.target))

    try:
        stayed += guard.enter(tool_sources())
        runner.shared["clock_offset"] = guard.clock_offset()
        # Scrubs are held off first: on a busy cluster some placement group is always being scrubbed.
        guard.quiet()
        writes = needed(runner.target, {c.ID: params[c.ID] for c in chosen})
        first = runner.one(PRECONDITIONS, {**params[PRECONDITIONS.ID], "writes": writes})
        aside = runner.context("guard", params[PRECONDITIONS.ID])
        yield Session(one, chosen, beside, MEASURED_FIRST, [first], clear=lambda: remove_aside(aside))
    finally:
        with shielded():
            runner.put_back([*stayed, *guard.leave()])


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    beside=BESIDE,
    prefix="",
    target="storage",
    open=session,
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
