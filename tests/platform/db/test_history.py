"""The history checker itself: it reports what is certainly wrong, and nothing that may be right."""

from math import inf

import pytest

from ava.domain.model import Quota
from ava.domain.resources import Resources
from tests.platform.history import History, Operation, disagreements, overruns

ONE = Resources(1, 0, 0)
LIMITS = {"group vision": Quota(1, None, None)}


@pytest.fixture
def history(world):
    history = History()
    for _ in range(2):
        history.submitted(world.submit(ONE))
    return history


def admit(history, index, start, end, done=True):
    history.operations.append(Operation("admit", list(history.runs)[index], start, end, done))


def finish(history, index, start, end, done=True):
    history.operations.append(Operation("finish", list(history.runs)[index], start, end, done))


def quota(history, gpu, start, end, done=True):
    history.operations.append(Operation("quota", "group vision", start, end, done, Quota(gpu, None, None)))


def test_two_runs_that_certainly_overlap_in_a_quota_of_one(history):
    admit(history, 0, 0, 1)
    admit(history, 1, 2, 3)
    assert len(overruns(history, LIMITS)) == 1
    assert overruns(history, {"group vision": Quota(2, None, None)}) == []


@pytest.mark.parametrize(
    ("start", "end", "done"), [(1, 4, True), (1, inf, None), (2.5, inf, None), (3, 4, True)]
)
def test_an_end_that_may_have_come_first_is_no_overrun(history, start, end, done):
    admit(history, 0, 0, 1)
    finish(history, 0, start, end, done)
    admit(history, 1, 2, 3)
    assert overruns(history, LIMITS) == []


@pytest.mark.parametrize(("start", "end", "done"), [(3.5, 4, True), (1, 2, False)])
def test_an_end_that_came_after_or_never_is_none(history, start, end, done):
    admit(history, 0, 0, 1)
    finish(history, 0, start, end, done)
    admit(history, 1, 2, 3)
    assert len(overruns(history, LIMITS)) == 1


def test_an_admission_that_was_not_acknowledged_proves_nothing(history):
    admit(history, 0, 0, 1)
    admit(history, 1, 2, inf, None)
    assert overruns(history, LIMITS) == []


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ([(2, 1, 1.5, True)], 0),
        ([(2, 1, 1.5, False)], 1),
        ([(2, 1, inf, None)], 0),
        ([(2, 0, 0.1, True), (1, 0.2, 0.3, True)], 1),
        ([(2, 0, 0.1, True), (1, 0.2, inf, None)], 0),
        ([(2, 0, 0.25, True), (1, 0.2, 0.3, True)], 0),
        ([(2, 3.5, 4, True)], 1),
    ],
)
def test_only_a_limit_that_was_possibly_in_force_counts(history, changes, wrong):
    for change in changes:
        quota(history, *change)
    admit(history, 0, 0.5, 1)
    admit(history, 1, 2, 3)
    assert len(overruns(history, LIMITS)) == wrong


def test_what_the_database_lost_or_invented_is_reported(world):
    history = History()
    lost, invented, unended, fine = (world.submit(ONE) for _ in range(4))
    for run in (lost, invented, unended, fine):
        history.submitted(run)
    with history.operation("admit", lost.id) as operation:
        operation.done = True
    world.db.runs.admit(invented.id, run.created)
    for run in (unended, fine):
        with history.operation("admit", run.id) as operation:
            operation.done = world.db.runs.admit(run.id, run.created) == ()
    with history.operation("finish", unended.id) as operation:
        operation.done = True
    assert sorted(disagreements(history, world.db)) == sorted(
        [
            f"{lost.id} was admitted and is not charged",
            f"{invented.id} is charged and was not admitted",
            f"{unended.id} has ended and is charged still",
        ]
    )
