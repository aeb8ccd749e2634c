"""Statistics of repeated measurements: t interval, variation, percentiles, regression with prediction intervals."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, linear_regression, stdev, variance

# Student's t alone: scipy.stats takes four times as long to load.
from scipy.special import stdtrit

UNSTABLE_COV = 0.10
"""Coefficient of variation above which a metric is flagged unstable (acceptance.md 2.3.4)."""
MAX_DECADES = 2.0
"""Largest distance, in decades of n, over which a projection is made (acceptance.md 2.4)."""


def cov(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation; None with fewer than two values or a mean of 0."""
    if len(values) < 2 or fmean(values) == 0:
        return None
    return _stdev(values) / abs(fmean(values))


def t_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return Student's 95 % confidence interval of the mean; None with fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    half = _t95(n - 1) * _stdev(values) / math.sqrt(n)
    return (fmean(values) - half, fmean(values) + half)


def _stdev(values: Sequence[float]) -> float:
    """Return the sample standard deviation; NaN with a NaN, at which ``statistics.stdev`` breaks."""
    return stdev(values) if all(map(math.isfinite, values)) else math.nan


def _t95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t."""
    return float(stdtrit(freedom, 0.975))


def percentile(histogram: Mapping[float, int], q: float) -> float:
    """Return the q-quantile (0..1) of a histogram {value: count} by nearest rank; NaN for an empty one."""
    values = sorted(histogram)
    ranks = list(accumulate(histogram[value] for value in values))
    if not ranks or not ranks[-1]:
        return math.nan
    return float(values[bisect_left(ranks, max(1, math.ceil(q * ranks[-1])))])


@dataclass(frozen=True, slots=True)
class Line:
    """A least-squares line y = a + b·x with what is needed for prediction intervals."""

    a: float
    b: float
    n: int
    x_mean: float
    sxx: float
    s: float
    """Standard error of the residuals."""

    def at(self, x: float) -> float:
        """Return the line's y at x."""
        return self.a + self.b * x

    def interval(self, x: float) -> tuple[float, float]:
        """Return the 95 % prediction interval of one new observation at x."""
        half = _t95(self.n - 2) * self.s * math.sqrt(1 + 1 / self.n + (x - self.x_mean) ** 2 / self.sxx)
        return (self.at(x) - half, self.at(x) + half)


def fit(points: Sequence[tuple[float, float]]) -> Line:
    """Fit a line; ValueError with fewer than three points or all at one x (no interval could be given)."""
    n = len(points)
    if n < 3:
        raise ValueError(f"a prediction interval needs at least 3 points, there are {n}")
    xs, ys = zip(*points, strict=True)
    b, a = linear_regression(xs, ys)
    s = math.sqrt(math.fsum((y - a - b * x) ** 2 for x, y in points) / (n - 2))
    return Line(a, b, n, fmean(xs), (n - 1) * variance(xs), s)


@dataclass(frozen=True, slots=True)
class Projection:
    """What a growth series says of a larger n.

    Attributes:
        value: projected y at n.
        interval: 95 % prediction interval of y at n.
        reached: largest n that was really measured.
        decades: distance from it to n, in decades.
        allowed: whether the distance is within MAX_DECADES; the numbers are not to be used otherwise.
        bend: whether the slope changed: the last point lies outside the interval that the others predict.
    """

    value: float
    interval: tuple[float, float]
    reached: float
    decades: float
    allowed: bool
    bend: bool


def project(points: Sequence[tuple[float, float]], n: float) -> Projection:
    """Project a growth series (n_i, y_i), both positive, to n by a log-log regression.

    Raises:
        ValueError: fewer than three points, or a coordinate that is not positive.
    """
    if any(x <= 0 or y <= 0 for x, y in points):
        raise ValueError("a log-log projection needs positive values")
    logs = sorted((math.log10(x), math.log10(y)) for x, y in points)
    line = fit(logs)
    x = math.log10(n)
    lo, hi = line.interval(x)
    decades = max(0.0, x - logs[-1][0])
    return Projection(
        10 ** line.at(x),
        (10**lo, 10**hi),
        10 ** logs[-1][0],
        decades,
        decades <= MAX_DECADES,
        bool(len(logs) > 3 and not holds_out(points)),
    )


HELD_OUT_ERROR = 1 / 3
"""Relative error of a prediction that is good enough, however narrow its interval happens to be."""


def holds_out(points: Sequence[tuple[float, float]]) -> bool:
    """Say whether the largest point is what the smaller ones predict (needs four points).

    It lies in their 95 % interval, or within ``HELD_OUT_ERROR`` of the prediction: three points that happen to lie on a line
    have an interval of almost no width, and would refuse a good model.
    """
    *rest, last = sorted((math.log10(x), math.log10(y)) for x, y in points)
    lo, hi = fit(rest).interval(last[0])
    middle, error = (lo + hi) / 2, math.log10(1 + HELD_OUT_ERROR)
    return min(lo, middle - error) <= last[1] <= max(hi, middle + error)
