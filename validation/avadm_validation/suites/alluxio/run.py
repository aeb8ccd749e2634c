"""Runs the cache suite: preconditions, checks, judgement, and what it made removed at the end."""

from __future__ import annotations

from collections.abc import Sequence

from avadm_validation.measuring.runner import Runner, shielded
from avadm_validation.measuring.suite import Lack, Suite
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites.alluxio.cache import Cache
from avadm_validation.suites.alluxio.checks import CHECKS, PRECONDITIONS


def execute(runner: Runner, only: Sequence[str] = ()) -> list[CheckResult]:
    """Run the checks (or those named) within a run.

    Args:
        runner: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all.
    """
    if runner.target.cache is None:
        raise ValueError("the site has no cache")
    params = runner.efforts(__package__)
    results: list[CheckResult] = []
    try:
        first = runner.one(PRECONDITIONS, params[PRECONDITIONS.ID])
        results.append(first)
        for check in (c for c in CHECKS if not only or c.ID in only):
            results.append(runner.after(first, check, params[check.ID]))
    finally:
        with shielded():
            ctx = runner.context("guard", params[PRECONDITIONS.ID])
            ctx.tell("remove the files of the cache's checks")
            swept = [Cache(runner.context(c.ID, params[c.ID])) for c in CHECKS[:1]]
            stayed = [text for one in swept for text in one.sweep()]
            runner.put_back(stayed)
    return results


SUITE = Suite(
    first=PRECONDITIONS,
    checks=CHECKS,
    prefix="A-AL-",
    target="cache",
    execute=execute,
    lack=Lack(
        check="no-cache",
        needs="a cache that clients mount",
        key="components",
        found="none",
        wanted="components.alluxio with fuse: true",
        remedy="Describe a cache and apply.",
    ),
)
