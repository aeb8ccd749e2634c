"""Quotas: which are valid, what fits, and how it is reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ava.domain.model import Quota
from ava.domain.quota import (
    MOST,
    asks_problems,
    below_use,
    never_fits,
    quota_problems,
    room,
    waits_for_quota,
)
from ava.domain.resources import Resources

AMOUNTS = st.integers(0, MOST)
LIMITS = st.none() | AMOUNTS
RESOURCES = st.builds(Resources, AMOUNTS, AMOUNTS, AMOUNTS)
QUOTAS = st.builds(Quota, LIMITS, LIMITS, LIMITS, LIMITS)


@given(QUOTAS, RESOURCES)
def test_what_is_available_is_valid(quota, asks):
    assert not quota_problems(quota, "quota") and not asks_problems(asks)


@pytest.mark.parametrize("part", ["gpu", "cpu", "memory", "storage"])
@pytest.mark.parametrize("value", [-1, MOST + 1, True, 0.5, "1", float("nan")])
def test_what_is_unavailable_is_named(part, value):
    (problem,) = quota_problems(Quota(**{part: value}), "quota")
    assert problem.where == f"quota.{part}" and problem.found == repr(value)


@given(QUOTAS, RESOURCES, RESOURCES)
def test_a_run_waits_exactly_where_the_sum_is_over_the_quota(quota, used, asks):
    over = {
        name
        for name in Resources._fields
        if (limit := getattr(quota, name)) is not None and getattr(used, name) + getattr(asks, name) > limit
    }
    assert len(waits_for_quota(asks, quota, used, "group g")) == len(over)
    assert (not over) == (not asks.lacking(room(quota, used)))


@given(QUOTAS, RESOURCES)
def test_what_never_fits_waits_even_when_nothing_is_used(quota, asks):
    never = never_fits(asks, quota, "group g")
    assert len(never) == len(waits_for_quota(asks, quota, Resources(), "group g"))
    assert len(never) == len(below_use(quota, asks, "group g"))


def test_reasons_are_in_words_with_units():
    quota, used = Quota(4, 1500, 2**31), Resources(3, 1000, 2**30)
    problems = waits_for_quota(Resources(2, 1000, 3 * 2**29), quota, used, "group vision")
    assert [(p.found, p.wanted) for p in problems] == [
        ("1 GPU left", "2 GPUs"),
        ("0.5 cores left", "1 core"),
        ("1 GiB left", "1.5 GiB"),
    ]
    assert all("group vision" in p.what and p.remedy for p in problems)
