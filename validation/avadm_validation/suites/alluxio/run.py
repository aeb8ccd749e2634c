"""Runs the cache suite: preconditions, checks, judgement, and what it made removed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from avadm_validation import data
from avadm_validation.protocol.model import CheckResult, Verdict
from avadm_validation.suites.alluxio.cache import Cache
from avadm_validation.suites.alluxio.checks import CHECKS, PRECONDITIONS
from avadm_validation.suites.runner import Suite, shielded


def efforts(kind: str, effort: str) -> dict[str, dict[str, Any]]:
    """Return the parameters of each check for a kind of target and an effort."""
    return data.efforts("avadm_validation.suites.alluxio", kind, effort)


def execute(suite: Suite, only: Sequence[str] = ()) -> list[CheckResult]:
    """Run the checks (or those named) within a run.

    Args:
        suite: the run, with its target, criteria, manifest and notes.
        only: ids of checks; none: all.
    """
    if suite.target.cache is None:
        raise ValueError("the site has no cache")
    params = efforts(suite.target.kind, suite.effort)
    results: list[CheckResult] = []
    try:
        first = suite.one(PRECONDITIONS, params[PRECONDITIONS.ID])
        results.append(first)
        for check in (c for c in CHECKS if not only or c.ID in only):
            if first.verdict is Verdict.PASS:
                results.append(suite.one(check, params[check.ID]))
            else:
                why = ["the preconditions are not met", *first.reasons]
                results.append(suite.blank(check, Verdict.BLOCKED, why))
    finally:
        with shielded():
            ctx = suite.context("guard", params[PRECONDITIONS.ID])
            ctx.tell("remove the files of the cache's checks")
            swept = [Cache(suite.context(c.ID, params[c.ID])) for c in CHECKS[:1]]
            stayed = [text for one in swept for text in one.sweep()]
            suite.left += stayed
            for text in stayed:
                suite.warn(text)
    return results
