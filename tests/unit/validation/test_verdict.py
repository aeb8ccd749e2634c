"""The decision rule (acceptance.md 2.3.4): only a whole interval on the good side passes."""

import math

import pytest

from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.judge import deciding, judged, verdict_of
from avadm_validation.protocol.model import Criterion, Metric, Sample, Verdict
from avadm_validation.protocol.verdict import fmt, holds, judge, measured, worst

V = Verdict


def criterion(**changes):
    data = {
        "id": "A-X.rate",
        "check": "A-X",
        "metric": "rate",
        "unit": "files/s",
        "op": ">=",
        "threshold": 100,
        "scope": "aggregate",
        "method": "m",
        "class": "lab",
        "repetitions": 3,
    }
    return Criterion(**{**data, **changes})


def samples(*values, seconds=10.0, **params):
    return [Sample(value=v, seconds=seconds, extract="rate", params=params) for v in values]


def metric(*values):
    return Metric(name="rate", title="rate", unit="files/s", scope="aggregate", samples=samples(*values))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((110, 111, 112), V.PASS),
        ((80, 81, 82), V.FAIL),
        ((99, 101, 103), V.INCONCLUSIVE),
        ((200, 10, 300), V.INCONCLUSIVE),  # the mean is above, the interval is not
        ((110,), V.INCONCLUSIVE),  # one sample has no interval
        ((110, 111), V.INCONCLUSIVE),  # fewer than the criterion asks for
        ((), V.FAIL),  # a missing metric fails the run
        ((110, math.nan, 112), V.FAIL),
    ],
)
def test_mean(values, wanted):
    assert judge(samples(*values), criterion())[0] is wanted


def test_too_short_never_passes_but_fails():
    c = criterion(min_duration_s=300)
    assert judge(samples(110, 111, 112, seconds=299), c)[0] is V.INCONCLUSIVE
    assert judge(samples(10, 11, 12, seconds=299), c)[0] is V.FAIL
    assert judge(samples(110, 111, 112, seconds=300), c)[0] is V.PASS


def test_at_most():
    c = criterion(op="<=", threshold=5)
    assert judge(samples(1, 1.1, 0.9), c)[0] is V.PASS
    assert judge(samples(9, 9.1, 8.9), c)[0] is V.FAIL


@pytest.mark.parametrize(("values", "wanted"), [((0,), V.PASS), ((0, 0), V.PASS), ((0, 1), V.FAIL)])
def test_each(values, wanted):
    assert judge(samples(*values), criterion(rule="each", op="==", threshold=0, repetitions=1))[0] is wanted


def growth(points):
    return [Sample(value=v, extract="files_that_fit", params={"files": float(n)}) for n, v in points]


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ([(1e5, 5e8), (3e5, 5.1e8), (1e6, 4.9e8), (3e6, 5e8)], V.PROJECTED),
        ([(1e5, 5e7), (3e5, 5.1e7), (1e6, 4.9e7), (3e6, 5e7)], V.FAIL),
        ([(1e3, 5e8), (3e3, 5.1e8), (1e4, 4.9e8), (3e4, 5e8)], V.INCONCLUSIVE),  # 3.8 decades
        ([(1e6, 5e8), (3e6, 5e8)], V.INCONCLUSIVE),  # no interval
        ([(1e8, 5e8), (2e8, 5e8)], V.PASS),  # really reached
    ],
)
def test_projection_is_never_more_than_projected(points, wanted):
    assert judge(growth(points), criterion(rule="projected", threshold=2e8))[0] is wanted


def test_unstable_is_flagged_above_ten_percent():
    assert "unstable" in measured(metric(100, 130, 160), None).flags
    assert "unstable" not in measured(metric(100, 101, 102), None).flags


def test_operators_are_a_closed_set():
    with pytest.raises(ValueError, match="Input should be"):
        criterion(op="__import__('os')")
    assert not holds(math.nan, ">=", 0) and not holds(math.nan, "<=", 0)


def test_worst():
    assert worst([V.PASS, V.PROJECTED, V.PASS]) is V.PROJECTED
    assert worst([V.INCONCLUSIVE, V.FAIL, V.BLOCKED]) is V.FAIL
    assert worst([]) is V.NOT_RUN


def test_a_criterion_without_its_metric_fails_the_check():
    criteria = Criteria([criterion(), criterion(id="A-X.errors", metric="errors", rule="each")], [])
    found = judged("A-X", [metric(110, 111, 112)], criteria)
    assert [m.verdict for m in found] == [V.PASS, V.FAIL]
    assert verdict_of(found) is V.FAIL
    assert deciding(found).name == "errors"


@pytest.mark.parametrize(
    ("value", "text"), [(1234567, "1,234,567"), (0.12345, "0.1235"), (12.3456, "12.35"), (0, "0")]
)
def test_fmt(value, text):
    assert fmt(value) == text
