"""Statistics agree with known values, and refuse what they cannot do."""

import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from avadm_validation.protocol import stats

VALUES = st.lists(st.floats(1, 1e9), min_size=2, max_size=20)


def test_t_interval_is_the_textbook_one():
    # n = 5, mean 10, s = 1.5811; t(0.975, 4) = 2.7764
    low, high = stats.t_interval([8, 9, 10, 11, 12])
    assert (low, high) == pytest.approx((10 - 1.9632, 10 + 1.9632), abs=1e-3)


@given(VALUES)
def test_the_interval_holds_the_mean(values):
    low, high = stats.t_interval(values)
    assert low <= fmean(values) * (1 + 1e-12) and fmean(values) * (1 - 1e-12) <= high


def test_one_value_has_no_interval_and_no_variation():
    assert stats.t_interval([3.0]) is None
    assert stats.cov([3.0]) is None


def test_a_missing_number_makes_the_interval_missing_too():
    assert all(math.isnan(end) for end in stats.t_interval([math.nan, 1.0]))


def test_cov():
    assert stats.cov([9, 10, 11]) == pytest.approx(0.1)


@pytest.mark.parametrize(("q", "wanted"), [(0.5, 2), (0.99, 9), (1.0, 9), (0.0, 1)])
def test_percentile_by_nearest_rank(q, wanted):
    assert stats.percentile({1: 3, 2: 5, 9: 2}, q) == wanted


def test_percentile_of_nothing_is_nan():
    assert math.isnan(stats.percentile({}, 0.99))


def test_a_power_law_is_projected_exactly():
    p = stats.project([(n, 3 * n**0.9) for n in (1e3, 1e4, 1e5, 1e6)], 1e8)
    assert p.value == pytest.approx(3 * 1e8**0.9, rel=1e-6)
    assert p.allowed and not p.bend and p.reached == pytest.approx(1e6)


def test_more_than_two_decades_is_not_allowed():
    assert not stats.project([(n, n) for n in (1e3, 1e4, 1e5)], 1.01e7).allowed


def test_a_change_of_slope_is_seen():
    points = [(1e3, 1000.0), (3e3, 3010.0), (1e4, 9980.0), (3e4, 30050.0), (1e5, 400000.0)]
    assert stats.project(points, 1e6).bend
    assert not stats.holds_out(points)


@pytest.mark.parametrize("points", [[(1, 1), (2, 2)], [(1, 1), (1, 2), (1, 3)], [(1, 1), (2, 0), (3, 3)]])
def test_what_cannot_be_projected_is_refused(points):
    with pytest.raises(ValueError, match=r"points|positive|constant"):
        stats.project(points, 100)


@pytest.mark.parametrize(
    ("last", "good"), [(1.0, True), (0.8, True), (1.3, True), (0.7, False), (1.4, False)]
)
def test_three_points_on_a_line_do_not_refuse_a_good_prediction(last, good):
    points = [(float(n), 5000.0 * n) for n in (100, 300, 900)]
    assert stats.holds_out([*points, (2700, 2700 * 5000 * last)]) is good
