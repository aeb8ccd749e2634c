"""Judgement: from samples and a criterion to a verdict (acceptance.md 2.3.4 and 2.3.5); pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from avadm_validation.protocol import stats
from avadm_validation.protocol.load import Machine
from avadm_validation.protocol.model import Class, Criterion, Metric, Op, Sample, Verdict

# From best to worst; a check's verdict is the worst of its metrics'.
ORDER = (
    Verdict.PASS,
    Verdict.PROJECTED,
    Verdict.EXCEPTED,
    Verdict.NOT_RUN,
    Verdict.INCONCLUSIVE,
    Verdict.BLOCKED,
    Verdict.FAIL,
)


def holds(value: float, op: Op, threshold: float) -> bool:
    """Compare by one of the closed set of operators; NaN never holds."""
    if math.isnan(value):
        return False
    match op:
        case ">=":
            return value >= threshold
        case "<=":
            return value <= threshold
        case "==":
            return math.isclose(value, threshold, rel_tol=1e-9, abs_tol=1e-12)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict; NOT RUN for none."""
    return max(verdicts, key=ORDER.index, default=Verdict.NOT_RUN)


def fmt(value: float) -> str:
    """Return a number for people: four significant digits, thousands grouped."""
    if math.isinf(value):
        return "∞"
    if math.isnan(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 6)}f}"


def judge(
    samples: Sequence[Sample], criterion: Criterion, class_: Class = "site-full", slowdown: float = 1.0
) -> tuple[Verdict, str]:
    """Apply a criterion to samples; return the verdict and the reason, with its numbers.

    What is timed in windows never passes in class ``site-sampled``: a rehearsal cannot accept a site.

    In class ``lab``, what depends on the speed of the machine fails only beyond `scaled_threshold`: between it and the threshold
    the load of the machine explains the number, so it is INCONCLUSIVE. A PASS never gets easier.

    Args:
        samples: the repetitions of one metric.
        criterion: what judges.
        class_: class of the numbers.
        slowdown: how many times slower than on an idle reference machine a fixed computation ran meanwhile, 1 or more.
    """
    verdict, reason = _judge(samples, criterion, class_)
    limit = scaled_threshold(criterion, slowdown)
    if verdict is not Verdict.FAIL or limit == criterion.threshold or not samples:
        return verdict, reason
    if _judge(samples, criterion.model_copy(update={"threshold": limit}), class_)[0] is Verdict.FAIL:
        return verdict, f"{reason}; the load of the machine does not explain it (limit for it: {fmt(limit)})"
    return (
        Verdict.INCONCLUSIVE,
        f"{reason}; but the machine ran {slowdown:.1f} times slower than an idle one meanwhile, and only beyond {fmt(limit)} "
        f"{criterion.unit} would that not explain it: repeat on an idle machine",
    )


FAULT_MARGIN = 1.1
"""By how much a scaled threshold stays away from what the planted fault of the metric lets through."""


UNFAIR = 3.0
"""Slowdown from which on shares and ratios of clients are not judged: a window of a second may pass before one has a core."""


def scaled_threshold(criterion: Criterion, slowdown: float) -> float:
    """Return the threshold that a slower machine is given; the criterion's own where the number does not depend on speed.

    It never reaches what the negative control of the metric leaves (``seen.faulty``): such a value stays a FAIL at any load.
    """
    c = criterion
    if slowdown <= 1 or not c.depends_on_load:
        return c.threshold
    faulty = c.seen.faulty if c.seen else None
    if c.op == "<=":
        limit = c.threshold * slowdown
        return max(c.threshold, min(limit, faulty / FAULT_MARGIN)) if faulty is not None else limit
    limit = c.threshold / slowdown
    if c.unit == "ratio" and slowdown >= UNFAIR:
        limit = 0.0
    return min(c.threshold, max(limit, faulty * FAULT_MARGIN)) if faulty is not None else limit


def _judge(samples: Sequence[Sample], criterion: Criterion, class_: Class) -> tuple[Verdict, str]:
    """Apply a criterion as it is written.

    ``mean``: the whole 95 % interval on the good side passes, on the bad side fails, between is INCONCLUSIVE.
    ``each``: every sample must hold. Too few or too short samples never pass; one that fails does so all the same.
    """
    c = criterion
    wanted = f"{c.op} {fmt(c.threshold)} {c.unit}".rstrip()
    if not samples:
        return Verdict.FAIL, f"{c.metric} was not measured (wanted {wanted}); a missing metric fails the run"
    values = [s.value for s in samples]
    if any(math.isnan(v) for v in values):
        # What was not measured is no proof of a fault, and none of the opposite.
        return (
            Verdict.INCONCLUSIVE,
            f"{c.metric} could not be measured: the raw data hold no value (wanted {wanted})",
        )
    if c.rule == "projected":
        reached = max(float(s.params["files"]) for s in samples)
        if reached >= c.threshold:
            return Verdict.PASS, f"{fmt(reached)} {c.unit} were really made; wanted {wanted}"
        try:
            return judge_projection(projection_of(samples, c), c)
        except ValueError as e:
            return Verdict.INCONCLUSIVE, f"largest n reached is {fmt(reached)}; no projection: {e}"
    if c.rule == "each":
        bad = [v for v in values if not holds(v, c.op, c.threshold)]
        if bad:
            verdict = Verdict.EXCEPTED if c.excepted else Verdict.FAIL
            return verdict, f"{c.metric} is {', '.join(map(fmt, bad))} {c.unit}; wanted {wanted}"
        verdict, reason = (
            Verdict.PASS,
            f"{c.metric} is {', '.join(map(fmt, values))} {c.unit}; wanted {wanted}",
        )
    else:
        verdict, reason = _judge_mean(values, c, wanted)
    if verdict is Verdict.PASS:
        if len(samples) < c.repetitions:
            return Verdict.INCONCLUSIVE, f"{reason}, but only {len(samples)} of {c.repetitions} repetitions"
        if any(s.seconds < c.min_duration_s for s in samples):
            shortest = min(s.seconds for s in samples)
            return (
                Verdict.INCONCLUSIVE,
                f"{reason}, but {shortest:.1f} s is less than {c.min_duration_s:.0f} s",
            )
        if class_ == "site-sampled" and (c.rule == "mean" or c.min_duration_s):
            return Verdict.INCONCLUSIVE, f"{reason}, but effort quick never accepts what is timed"
    return verdict, reason


def _judge_mean(values: Sequence[float], c: Criterion, wanted: str) -> tuple[Verdict, str]:
    interval = stats.t_interval(values)
    if interval is None:
        return Verdict.INCONCLUSIVE, f"{c.metric} has one sample ({fmt(values[0])} {c.unit}): no interval"
    if c.op == "==":
        raise ValueError(f"criterion {c.id}: rule 'mean' cannot be used with '=='")
    good = [holds(bound, c.op, c.threshold) for bound in interval]
    text = (
        f"{c.metric} is {fmt(fmean(values))} {c.unit}, 95 % interval {fmt(interval[0])} to {fmt(interval[1])}"
    )
    if all(good):
        return Verdict.PASS, f"{text}; wanted {wanted}"
    if not any(good):
        return Verdict.FAIL, f"{text}, is all on the wrong side of {wanted}"
    return Verdict.INCONCLUSIVE, f"{text}, reaches across {wanted}: repeat or measure longer"


def projection_of(samples: Sequence[Sample], criterion: Criterion) -> stats.Projection:
    """Project a growth series of samples to a criterion's threshold; ValueError where it cannot be."""
    return stats.project([(float(s.params["files"]), s.value) for s in samples], criterion.threshold)


def judge_projection(projection: stats.Projection, criterion: Criterion) -> tuple[Verdict, str]:
    """Judge what a growth series says of a number that was not reached (acceptance.md 2.4).

    PROJECTED at best, never PASS; INCONCLUSIVE beyond two decades or after a change of slope.
    """
    c, p = criterion, projection
    reached = f"projected from n = {fmt(p.reached)} ({p.reached / c.threshold:.2g} of the target)"
    if not p.allowed:
        return (
            Verdict.INCONCLUSIVE,
            f"largest n reached is {fmt(p.reached)}, {p.decades:.1f} decades short: no projection beyond "
            f"{stats.MAX_DECADES:.0f} decades is made",
        )
    if p.bend:
        return Verdict.INCONCLUSIVE, f"{reached}: the slope changes within the series, so it predicts nothing"
    lo, hi = p.interval
    text = f"{reached}: {fmt(p.value)} {c.unit}, 95 % prediction interval {fmt(lo)} to {fmt(hi)}"
    good = [holds(bound, c.op, c.threshold) for bound in p.interval]
    if all(good):
        return Verdict.PROJECTED, text
    if not any(good):
        return Verdict.FAIL, f"{text}; wanted {c.op} {fmt(c.threshold)}"
    return Verdict.INCONCLUSIVE, f"{text}, reaches across {c.op} {fmt(c.threshold)}"


def measured(
    metric: Metric, criterion: Criterion | None, class_: Class = "site-full", machine: Machine | None = None
) -> Metric:
    """Return the metric with its statistics, flags, verdict and reason filled in, by the load of the machine meanwhile."""
    values = [s.value for s in metric.samples]
    flags = list(metric.flags)
    variation = stats.cov(values)
    if variation is not None and variation > stats.UNSTABLE_COV and "unstable" not in flags:
        flags.append("unstable")
    slowdown = 1.0
    if machine and criterion:
        slowdown = machine.peak if criterion.rule == "each" else machine.slowdown
    verdict, reason = judge(metric.samples, criterion, class_, slowdown) if criterion else (None, "")
    if any(math.isnan(v) for v in values):
        values = []  # no statistics of what was not measured
    mean = fmean(values) if values else None
    # Where each sample must hold, no interval decides: one beside the verdict would contradict it.
    interval = None if criterion and criterion.rule == "each" else stats.t_interval(values)
    if criterion and criterion.rule == "projected":
        flags = [f for f in flags if f != "unstable"]  # a series grows, it does not repeat
        if verdict is Verdict.PROJECTED:
            projection = projection_of(metric.samples, criterion)
            mean, interval = projection.value, projection.interval
    return metric.model_copy(
        update={
            "mean": mean,
            "ci95": interval,
            "cov": variation,
            "flags": flags,
            "criterion": criterion,
            "verdict": verdict,
            "reason": reason,
        }
    )
