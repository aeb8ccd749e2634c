"""Numbers, times and verdicts as people read them; shared by every form of a report."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isinf, isnan
from typing import Literal

from avadm_validation.protocol.load import Machine, words
from avadm_validation.protocol.model import CheckResult, Metric, Report, Verdict

Language = Literal["en", "zh"]
"""Language of titles and targets; everything else of a report is English."""

# Byte rates are stated in decimal units (1 GB/s = 1e9 B/s), as networks and disks are sold.
_STEPS = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
_OPS = {">=": "≥", "<=": "≤", "==": "="}

MEANING = {
    Verdict.PASS: "the 95 % interval lies on the right side of the threshold",
    Verdict.FAIL: "the 95 % interval lies on the wrong side of the threshold, or a must was not met",
    Verdict.INCONCLUSIVE: "the interval contains the threshold, too little was measured, or a busy machine explains it",
    Verdict.BLOCKED: "not measured: a precondition does not hold",
    Verdict.EXCEPTED: "fails, and may here, for the reason that is given",
    Verdict.PROJECTED: "computed from a smaller series, not reached",
    Verdict.NOT_RUN: "not asked for, or the site has nothing that it measures",
}


def load(machine: Machine) -> str:
    """Return the load of the controller's machine in words."""
    return words(machine)


def number(value: float | None, unit: str = "") -> str:
    """Return a number with three significant digits and its unit, e.g. ``1.25 GB/s`` or ``5,120 files/s``."""
    if value is None or isnan(value):
        return "–"
    if isinf(value):
        return "never"
    if unit == "bool":
        return "yes" if value == 1 else "no"
    if unit == "ratio":
        unit = ""
    if _rate(unit):
        for size, prefix in _STEPS:
            if abs(value) >= size:
                return f"{value / size:.3g} {prefix}{unit}"
        return f"{value:.3g} {unit}"
    if value == int(value) or abs(value) >= 1000:
        text = f"{value:,.0f}"
    elif abs(value) >= 100:
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def interval(ci95: tuple[float, float] | None, unit: str) -> str:
    """Return a confidence interval, e.g. ``4,900 … 5,300 files/s``; empty without one."""
    if not ci95:
        return ""
    return f"{number(ci95[0], unit if _rate(unit) else '')} … {number(ci95[1], unit)}"


def _rate(unit: str) -> bool:
    """Return whether a unit takes a decimal prefix."""
    return unit in ("B/s", "B", "bit/s")


def wanted(op: str | None, threshold: float | None, unit: str) -> str:
    """Return a threshold with its operator, e.g. ``≥ 5,000 files/s`` or ``must be yes``; a dash without one."""
    if not op or threshold is None:
        return "–"
    return f"{'must be' if unit == 'bool' else _OPS[op]} {number(threshold, unit)}"


def suites(report: Report) -> str:
    """Return the suites that were run, e.g. ``storage and platform suites``."""
    return f"{report.suite} suite{'s' if ' and ' in report.suite else ''}"


def name(report: Report) -> str:
    """Return what the report is of, e.g. ``site lab, storage suite``."""
    return f"site {report.site}, {suites(report)}"


def title(of: CheckResult | Metric, language: Language = "en") -> str:
    """Return the title of a check or metric; the English one where it has no Chinese one."""
    return (of.title_zh if language == "zh" else "") or of.title


def judged(report: Report) -> bool:
    """Return whether any of the specification's targets was judged."""
    return any(check.stated.judged for check in report.checks if check.stated)


def stated_heading(report: Report) -> str:
    """Return the heading of the column of the specification's targets."""
    return "Specification" if judged(report) else "Specification (not judged here)"


def stated(check: CheckResult, report: Report, language: Language = "en") -> str:
    """Return the specification's target, and that it was not judged where others of the report were."""
    if check.stated is None:
        return "–"
    own = check.stated.text_zh if language == "zh" else ""
    text = own or check.stated.text or number(check.stated.threshold, check.stated.unit)
    return text if check.stated.judged or not judged(report) else f"{text} (not judged here)"


def when(epoch: float) -> str:
    """Return an epoch time as UTC."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%H:%M:%S")


def day(iso: str) -> str:
    """Return an ISO time as people read it, UTC, to the second; the text itself where it is not one."""
    try:
        return datetime.fromisoformat(iso).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except ValueError:
        return iso


def margin(metric: Metric) -> float | None:
    """Return how good a metric is against its threshold: above 1 is better; None where there is no ratio.

    Exact counts (``==``) and thresholds of zero have no ratio.
    """
    criterion = metric.criterion
    if criterion is None or metric.mean is None or not criterion.threshold or not metric.mean:
        return None
    if criterion.op == ">=":
        return metric.mean / criterion.threshold
    return criterion.threshold / metric.mean if criterion.op == "<=" else None


def headline(report: Report) -> str:
    """Return the result in one sentence, never claiming more than was measured."""
    counts = ", ".join(f"{n} {v.value}" for v, n in report.counts.items() if n)
    if report.class_ == "site-full":
        return f"{counts}."
    if report.class_ == "site-sampled":
        return f"{counts}, in a rehearsal: at effort quick nothing that is timed can pass the specification's targets."
    return f"{counts}, against thresholds of class {report.class_}; the specification's own targets were not judged."


def banner(report: Report) -> str:
    """Return what a reader must know of the class of the numbers; "" where they are the specification's own in full."""
    if report.class_ == "site-full":
        return ""
    if report.class_ == "site-sampled":
        return (
            "A rehearsal (class site-sampled): judged against the specification's own targets, in shorter windows than those ask "
            "for. What is timed can fail, but never pass; counts and refusals are judged as they are. Only effort full accepts "
            "a site."
        )
    return (
        f"Numbers of class {report.class_} are judged against thresholds of that class only (regression type, from "
        "repeated runs). The specification's own targets are shown beside them and are not judged here: no number of this report "
        "says that a site meets them."
    )
