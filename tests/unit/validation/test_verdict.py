"""The decision rule (acceptance.md 2.3.4): only a whole interval on the good side passes."""

import math

import pytest

from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.judge import deciding, judged, verdict_of
from avadm_validation.protocol.model import Criterion, Metric, Sample, Verdict
from avadm_validation.protocol.verdict import fmt, holds, judge, measured, scaled_threshold, worst

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
        ((110, math.nan, 112), V.INCONCLUSIVE),  # what was not measured proves nothing
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


def timed(**changes):
    return criterion(
        **{"unit": "s", "op": "<=", "threshold": 10, "rule": "each", "repetitions": 1, **changes}
    )


@pytest.mark.parametrize(
    ("value", "slowdown", "wanted"),
    [
        (9, 1, V.PASS),
        (9, 5, V.PASS),
        (11, 1, V.FAIL),  # on an idle machine nothing explains it
        (11, 2, V.INCONCLUSIVE),
        (21, 2, V.FAIL),  # twice as slow does not explain it
        (math.inf, 9, V.FAIL),  # it never came, however long it was waited for
    ],
)
def test_the_load_of_the_machine_never_makes_a_pass_and_explains_what_it_can(value, slowdown, wanted):
    assert judge(samples(value), timed(), "lab", slowdown)[0] is wanted


def test_throughput_is_scaled_too():
    slow = samples(40, 41, 42)
    assert judge(slow, criterion(), "lab", 1)[0] is V.FAIL
    assert judge(slow, criterion(), "lab", 3)[0] is V.INCONCLUSIVE
    assert judge(slow, criterion(), "lab", 2)[0] is V.FAIL


@pytest.mark.parametrize(
    "same",
    [
        timed(**{"class": "site-full"}),  # a site's limits are the specification's
        timed(unit="pods"),
        timed(op="==", unit="s"),
    ],
)
def test_what_does_not_depend_on_the_speed_of_the_lab_is_not_scaled(same):
    assert scaled_threshold(same, 5) == same.threshold


def test_a_ratio_of_times_is_scaled_where_its_criterion_says_so():
    assert scaled_threshold(timed(unit="ratio", load_dependent=True), 5) == 50


@pytest.mark.parametrize("slowdown", [1, 1.5, 3, 100])
def test_what_a_planted_fault_lets_through_fails_at_any_load(slowdown):
    late = timed(seen={"worst": 5, "faulty": 12.5})
    assert judge(samples(12.5), late, "lab", slowdown)[0] is V.FAIL
    slow = criterion(seen={"worst": 200, "cov": 0.1, "faulty": 80})
    assert judge(samples(80, 80.1, 79.9), slow, "lab", slowdown)[0] is V.FAIL


def test_no_interval_stands_beside_a_verdict_that_each_sample_decides():
    one = Metric(name="late", title="late", unit="ratio", scope="client", samples=samples(0.6, 2.1))
    found = measured(one, criterion(metric="late", unit="ratio", op="<=", threshold=1, rule="each"))
    assert (found.verdict, found.ci95, found.mean) == (V.FAIL, None, pytest.approx(1.35))


@pytest.mark.parametrize(("slowdown", "wanted"), [(1, V.FAIL), (2, V.FAIL), (10, V.INCONCLUSIVE)])
def test_a_client_that_got_no_core_in_time_is_no_fault_of_the_cluster(slowdown, wanted):
    share = criterion(unit="ratio", threshold=0.05, load_dependent=True)
    assert judge(samples(0, 0, 0), share, "lab", slowdown)[0] is wanted
