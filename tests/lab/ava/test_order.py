"""Trainings that come after others, through the public interface."""

import pytest

from tests.lab.ava.user_journey import ENDED, SMALL

pytestmark = pytest.mark.lab
ROLES = [{"each": SMALL}]


def test_a_training_begins_when_the_one_before_has_succeeded_and_never_when_it_has_not(day):
    first = day.start("samples", "import time; time.sleep(4)", roles=ROLES)
    second = day.start("learn", "print('learnt')", roles=ROLES, after=["samples"])
    waits = day.user.run(second)
    assert (waits.state, first in waits.reason) == ("queued", True)
    bad = day.start("broken", "raise SystemExit(3)", roles=ROLES)
    third = day.start("never", "print('no')", roles=ROLES, after=[bad])
    day.succeeded(second)
    ended = {run: day.user.run(run) for run in (first, second)}
    assert ended[second].admitted >= ended[first].finished
    assert day.until(third, *ENDED).outcome == "aborted"
    assert bad in day.user.run(third).reason
    assert day.user.pods(third) == []
