"""Runs that begin only when others have succeeded (U8)."""

import threading

import pytest

from ava.domain.model import Outcome, Phase
from ava.domain.problems import ApiError
from tests.unit.ava.db.world import NOW, ONE, SPEC, World, code, later


@pytest.fixture
def world(store):
    return World(store)


def after(world, *before, key="next"):
    definition = world.definition("ann", key)
    return world.store.submit(
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


def waits(store):
    return [run.id for run in store.waiting()]


def test_a_run_is_not_looked_at_nor_admitted_before_the_other_has_succeeded(world):
    store, first = world.store, world.running()
    run = after(world, first)
    assert run.waits_for[0]["code"] == "waits-for-run" and first.id in run.waits_for[0]["what"]
    assert waits(store) == []
    assert [p.code for p in store.admit(run.id, NOW)] == ["waits-for-run"]
    store.finish(first.id, Outcome.SUCCEEDED, "", later(1))
    assert waits(store) == [run.id]
    assert store.run(run.id).waits_for == ()
    assert store.admit(run.id, later(2)) == ()


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.SUCCEEDED])
def test_where_the_other_ends_otherwise_all_that_wait_for_it_are_aborted_with_the_reason(world, outcome):
    store, first = world.store, world.running()
    second = after(world, first, key="second")
    third = after(world, second, key="third")
    other = after(world, key="other")
    store.finish(first.id, outcome, "", later(1))
    for run, cause in ((second, first), (third, second)):
        ended = store.run(run.id)
        assert (ended.phase, ended.outcome) == (Phase.FINISHED, Outcome.ABORTED)
        assert cause.id in ended.reason
    assert store.run(other.id).phase is Phase.QUEUED
    assert store.charges(run=second.id) == []


def test_a_queued_one_that_is_stopped_ends_what_waits_for_it(world):
    store, first = world.store, world.submit()
    second = after(world, first)
    store.stop(first.id, later(1), by="ann")
    assert "was stopped" in store.run(second.id).reason


def test_of_several_all_have_to_succeed(world):
    store, one, two = world.store, world.running(), world.running()
    run = after(world, one, two, one)
    store.finish(one.id, Outcome.SUCCEEDED, "", later(1))
    assert waits(store) == [] and len(store.run(run.id).waits_for) == 1
    store.finish(two.id, Outcome.SUCCEEDED, "", later(2))
    assert waits(store) == [run.id]


def test_after_one_that_has_succeeded_it_begins_and_after_one_that_failed_it_is_refused(world):
    store, good, bad = world.store, world.running(), world.running()
    store.finish(good.id, Outcome.SUCCEEDED, "", NOW)
    store.finish(bad.id, Outcome.FAILED, "", NOW)
    assert after(world, good, key="a").waits_for == ()
    before = len(store.runs().items)
    with pytest.raises(ApiError) as refused:
        after(world, bad, key="b")
    assert (refused.value.status, refused.value.problems[0].code) == (409, "predecessor-failed")
    assert code(world.store.submit, world.definition(), "c", NOW, asks=ONE, spec=SPEC, queue="default",
                priority=50, cluster="default", after=["r0000000000zz"])[0] == 404  # fmt: skip
    assert len(store.runs().items) == before


def test_whoever_comes_first_none_waits_for_ever(world):
    """The other one ends at the very moment at which a run is made that waits for it."""
    store = world.store
    for n in range(10):
        first, made = world.running(), []

        def make(first=first, made=made, n=n):
            try:
                made.append(after(world, first, key=f"n{n}"))
            except ApiError as refused:
                made.append(refused)

        thread = threading.Thread(target=make)
        thread.start()
        store.finish(first.id, Outcome.FAILED, "", later(1))
        thread.join(30)
        (answer,) = made
        assert isinstance(answer, ApiError) or store.run(answer.id).outcome is Outcome.ABORTED
