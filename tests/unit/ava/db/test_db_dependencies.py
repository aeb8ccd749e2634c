"""Runs that begin only when others have succeeded (U8)."""

import threading

import pytest

from ava.domain.model import Outcome, Phase
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW, ONE, SPEC, World, code, later


@pytest.fixture
def world(db):
    return World(db)


def after(world, *before, key="next"):
    definition = world.definition("ann", key)
    return world.db.runs.create(
        definition,
        key,
        NOW,
        asks=ONE,
        spec=SPEC,
        queue="default",
        priority=50,
        cluster="default",
        after=[run.id for run in before],
    )


def waits(db):
    return [run.id for run in db.runs.waiting()]


def test_a_run_is_not_looked_at_nor_admitted_before_the_other_has_succeeded(world):
    db, first = world.db, world.running()
    run = after(world, first)
    assert run.waits_for[0]["code"] == "waits-for-run" and first.id in run.waits_for[0]["what"]
    assert waits(db) == []
    assert [p.code for p in db.runs.admit(run.id, NOW)] == ["waits-for-run"]
    db.runs.finish(first.id, Outcome.SUCCEEDED, "", later(1))
    assert waits(db) == [run.id]
    assert db.runs.get(run.id).waits_for == ()
    assert db.runs.admit(run.id, later(2)) == ()


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.SUCCEEDED])
def test_where_the_other_ends_otherwise_all_that_wait_for_it_are_aborted_with_the_reason(world, outcome):
    db, first = world.db, world.running()
    second = after(world, first, key="second")
    third = after(world, second, key="third")
    other = after(world, key="other")
    db.runs.finish(first.id, outcome, "", later(1))
    for run, cause in ((second, first), (third, second)):
        ended = db.runs.get(run.id)
        assert (ended.phase, ended.outcome) == (Phase.FINISHED, Outcome.ABORTED)
        assert cause.id in ended.reason
    assert db.runs.get(other.id).phase is Phase.QUEUED
    assert db.charges.list(run=second.id) == []


def test_a_queued_one_that_is_stopped_ends_what_waits_for_it(world):
    db, first = world.db, world.submit()
    second = after(world, first)
    db.runs.stop(first.id, later(1), by="ann")
    assert "was stopped" in db.runs.get(second.id).reason


def test_of_several_all_have_to_succeed(world):
    db, one, two = world.db, world.running(), world.running()
    run = after(world, one, two, one)
    db.runs.finish(one.id, Outcome.SUCCEEDED, "", later(1))
    assert waits(db) == [] and len(db.runs.get(run.id).waits_for) == 1
    db.runs.finish(two.id, Outcome.SUCCEEDED, "", later(2))
    assert waits(db) == [run.id]


def test_after_one_that_has_succeeded_it_begins_and_after_one_that_failed_it_is_refused(world):
    db, good, bad = world.db, world.running(), world.running()
    db.runs.finish(good.id, Outcome.SUCCEEDED, "", NOW)
    db.runs.finish(bad.id, Outcome.FAILED, "", NOW)
    assert after(world, good, key="a").waits_for == ()
    before = len(db.runs.list().items)
    with pytest.raises(ApiError) as refused:
        after(world, bad, key="b")
    assert (refused.value.status, refused.value.problems[0].code) == (409, "predecessor-failed")
    assert code(world.db.runs.create, world.definition(), "c", NOW, asks=ONE, spec=SPEC, queue="default",
                priority=50, cluster="default", after=["r0000000000zz"])[0] == 404  # fmt: skip
    assert len(db.runs.list().items) == before


def test_any_user_who_comes_first_none_waits_for_ever(world):
    """The other one ends at the very moment at which a run is made that waits for it."""
    db = world.db
    for n in range(10):
        first, made = world.running(), []

        def make(first=first, made=made, n=n):
            try:
                made.append(after(world, first, key=f"n{n}"))
            except ApiError as refused:
                made.append(refused)

        thread = threading.Thread(target=make)
        thread.start()
        db.runs.finish(first.id, Outcome.FAILED, "", later(1))
        thread.join(30)
        (answer,) = made
        assert isinstance(answer, ApiError) or db.runs.get(answer.id).outcome is Outcome.ABORTED
