"""From what a check measured to its line in the report: criteria applied, the deciding metric named."""

from __future__ import annotations

from collections.abc import Sequence

from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.load import Machine
from avadm_validation.protocol.model import Class, Criterion, Metric, Verdict
from avadm_validation.protocol.verdict import judge, measured, worst

PRECONDITIONS = frozenset({"preconditions", "K-PRE", "A-AL-PRE", "A-S3-PRE", "A-SC-PRE"})
"""Checks that no other can do without: what stops one of them blocks the rest of its suite."""


def judged(
    check: str,
    metrics: Sequence[Metric],
    criteria: Criteria,
    class_: Class = "site-full",
    machine: Machine | None = None,
) -> list[Metric]:
    """Return the metrics with verdicts, judged ones first; a criterion without its metric is a metric that FAILs.

    ``machine``: its load meanwhile, where it was watched.
    """
    done = [measured(m, criteria.of(check, m.name), class_, machine) for m in metrics]
    there = {m.name for m in metrics}
    done += [_absent(c) for c in criteria.needed(check) if c.metric not in there]
    order = [c.metric for c in criteria.needed(check)]
    return sorted(done, key=lambda m: order.index(m.name) if m.name in order else len(order))


def deciding(metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric that a check's headline shows: the first of the worst verdict; None without judged ones."""
    found = [m for m in metrics if m.verdict is not None]
    if not found:
        return None
    bad = worst(m.verdict for m in found if m.verdict is not None)
    return next(m for m in found if m.verdict is bad)


def verdict_of(metrics: Sequence[Metric]) -> Verdict:
    """Return the worst verdict of the judged metrics; NOT RUN where none is judged."""
    return worst(m.verdict for m in metrics if m.verdict is not None)


def check_verdict(check: str, metrics: Sequence[Metric], own: Verdict | None) -> Verdict:
    """Return a check's verdict: the worst of its metrics' and its own; what stops the preconditions blocks."""
    verdicts = [verdict_of(metrics)] if metrics else []
    found = worst([*verdicts, *([own] if own else [])])
    return Verdict.BLOCKED if check in PRECONDITIONS and found is not Verdict.PASS else found


def _absent(criterion: Criterion) -> Metric:
    verdict, reason = judge([], criterion)
    return Metric(
        name=criterion.metric,
        title=criterion.metric,
        unit=criterion.unit,
        scope=criterion.scope,
        criterion=criterion,
        verdict=verdict,
        reason=reason,
    )
