"""When an idle workbench is warned and stopped, and what is never taken for idleness."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ava.domain.idle import Rule, Step, step
from ava.domain.model import Kind, Phase, Run
from ava.domain.resources import Resources
from ava.domain.workbench import Workbench

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
RULE = Rule(timedelta(hours=8), timedelta(hours=2))
RUN = Run(
    "r1", "d1", Kind.WORKBENCH, "b", "ann", "vision", "default", 50, "default", "k", {}, Resources(1), Phase.ADMITTED,
    created=NOW, admitted=NOW,
)  # fmt: skip
BENCH = Workbench("d1", "", "", "", NOW)


def hours(count: float) -> datetime:
    return NOW + timedelta(hours=count)


def test_the_user_is_reported_then_it_is_stopped() -> None:
    assert step(RUN, BENCH, RULE, hours(5.9), busy=False) is Step.NOTHING
    assert step(RUN, BENCH, RULE, hours(6), busy=False) is Step.WARN
    text = replace(BENCH, warned=hours(6))
    assert step(RUN, text, RULE, hours(7.9), busy=False) is Step.NOTHING
    assert step(RUN, text, RULE, hours(8), busy=False) is Step.STOP


def test_no_one_is_stopped_without_the_whole_time_after_the_word() -> None:
    text = replace(BENCH, warned=hours(20))
    assert step(RUN, text, RULE, hours(21.9), busy=False) is Step.NOTHING


def test_who_was_at_work_begins_again() -> None:
    seen = replace(BENCH, active=hours(5))
    assert step(RUN, seen, RULE, hours(10.9), busy=False) is Step.NOTHING
    assert step(RUN, seen, RULE, hours(11), busy=False) is Step.WARN
    old_word = replace(seen, warned=hours(4))
    assert step(RUN, old_word, RULE, hours(13), busy=False) is Step.WARN


def test_a_new_run_does_not_inherit_the_idleness_of_the_last_one() -> None:
    again = replace(RUN, admitted=hours(10))
    old = replace(BENCH, active=hours(1), warned=hours(7))
    assert step(again, old, RULE, hours(10.1), busy=False) is Step.NOTHING
    assert step(again, old, RULE, hours(16), busy=False) is Step.WARN


@pytest.mark.parametrize("bench", [BENCH, replace(BENCH, warned=hours(6))])
def test_use_is_work_and_what_is_not_known_is_no_idleness(bench: Workbench) -> None:
    assert step(RUN, bench, RULE, hours(100), busy=True) is Step.ACTIVE
    assert step(RUN, bench, RULE, hours(100), busy=None) is Step.NOTHING
