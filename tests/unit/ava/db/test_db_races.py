"""Requests at the same time: one of them is the first, and the others are informed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ava.domain.model import Kind, Outcome, Quota, UserState
from ava.domain.problems import ApiError
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, ROOM

THREADS = 8


def at_once(*calls):
    """Return what calls answer that begin at one time; a refusal as its first code."""
    barrier = Barrier(len(calls))

    def begin(call):
        barrier.wait(30)
        try:
            return call()
        except ApiError as refusal:
            return refusal.problems[0].code

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


@pytest.mark.parametrize("kind", [Kind.TRAINING, Kind.WORKBENCH])
def test_one_key_makes_one_run(world, kind):
    definition = world.definition(kind=kind)
    answers = at_once(*[lambda: world.submit(definition=definition, key="once")] * THREADS)
    assert len({run.id for run in answers}) == 1
    assert len(world.db.runs.list().items) == 1


def test_one_name_makes_one_definition(world):
    answers = at_once(*[lambda: world.definition(name="same")] * THREADS)
    assert len(set(answers)) == 1


def test_a_new_key_replaces_none_that_came_at_the_same_time(world):
    put = world.db.keys.put
    answers = at_once(
        *[lambda n=n: put("ann", "ssh", "laptop", f"key {n}", NOW, new=True) for n in range(THREADS)]
    )
    assert sorted(map(str, answers)) == ["None", *["name-taken"] * (THREADS - 1)]
    assert world.db.keys.list("ann", "ssh") == {"laptop": f"key {answers.index(None)}"}


def test_a_workbench_is_started_once(world):
    definition = world.definition(kind=Kind.WORKBENCH)
    answers = at_once(*[lambda: world.submit(definition=definition)] * THREADS)
    assert answers.count("workbench-running") == THREADS - 1
    assert len(world.db.runs.list().items) == 1


def test_a_name_is_given_once_and_numbers_never_twice(world):
    answers = at_once(
        *[
            lambda n=n: world.db.users.create("new" if n % 2 else f"new{n}", f"{n}@example.org", "h", NOW)
            for n in range(THREADS)
        ]
    )
    assert answers.count("name-taken") == THREADS // 2 - 1
    uids = [u.uid for u in world.db.users.list().items]
    assert len(set(uids)) == len(uids) == THREADS // 2 + 2


def test_one_administrator_stays_when_two_shut_each_other_out(world):
    for _ in range(5):
        world.db.users.update("ann", NOW, state=UserState.ACTIVE)
        if world.db.users.list(limit=10).items[-1].name != "bob":
            world.person("bob", admin=True)
        world.db.users.update("bob", NOW, state=UserState.ACTIVE, admin=True)
        answers = at_once(
            lambda: world.db.users.update("ann", NOW, state=UserState.DISABLED),
            lambda: world.db.users.update("bob", NOW, state=UserState.DISABLED),
        )
        assert answers.count("last-administrator") == 1
        assert len(world.db.users.list(state=UserState.ACTIVE).items) == 1


def test_a_run_is_charged_once_however_many_admit_it(world):
    run = world.submit()
    assert at_once(*[lambda: world.db.runs.admit(run.id, NOW)] * THREADS) == [()] * THREADS
    assert world.db.groups.get("vision").used == ONE
    assert len(world.db.charges.list()) == 1


def test_what_is_left_goes_to_as_many_as_fit(world):
    world.db.queues.put("default", NOW, quota=Quota(3, None, None))
    runs = [world.submit() for _ in range(THREADS)]
    answers = at_once(*[lambda r=r: world.db.runs.admit(r.id, NOW) for r in runs])
    assert sum(answer == () for answer in answers) == 3
    assert world.db.groups.get("vision").used == world.db.queues.list()[0].used == ONE.times(3)
    assert len(world.db.charges.list(open_only=True)) == 3


def test_stopping_and_admitting_agree_on_who_was_first(world):
    for _ in range(10):
        run = world.submit()
        admitted, stopped = at_once(
            lambda r=run: world.db.runs.admit(r.id, NOW),
            lambda r=run: world.db.runs.stop(r.id, NOW, by="ann"),
        )
        charges = world.db.charges.list(run=run.id)
        if admitted == ():
            assert stopped.finished is None and len(charges) == 1
            world.db.runs.finish(run.id, Outcome.STOPPED, "", NOW)
        else:
            assert [p.code for p in admitted] == ["run-finished"] and charges == []
    assert world.db.groups.get("vision").used == Resources()


def test_a_run_is_ended_and_given_back_once(world):
    run, _ = world.running(), world.running()
    outcomes = [Outcome.SUCCEEDED, Outcome.FAILED] * (THREADS // 2)
    answers = at_once(*[lambda o=o: world.db.runs.finish(run.id, o, "", NOW) for o in outcomes])
    assert len({answer.outcome for answer in answers}) == 1
    assert world.db.groups.get("vision").used == ONE


def test_an_attempt_is_begun_once(world):
    run = world.running()
    answers = at_once(*[lambda: world.db.runs.restart(run.id, 0, NOW)] * THREADS)
    assert {answer.attempt for answer in answers} == {1}


def test_a_group_is_not_removed_under_a_new_run_or_member(world):
    for n in range(8):
        world.db.groups.create(f"g{n}", ROOM, NOW)
        world.person(f"p{n}")
        removed, joined = at_once(
            lambda n=n: world.db.groups.delete(f"g{n}", NOW),
            lambda n=n: world.db.groups.add_member(f"g{n}", f"p{n}", NOW),
        )
        assert (removed, joined) in {(None, "not-found"), ("group-in-use", None)}
        assert bool(world.db.groups.list(user=f"p{n}").items) == (joined is None)


def test_a_quota_lowered_while_runs_begin_is_never_below_what_is_used(world):
    for _ in range(5):
        world.db.groups.set_quota("vision", Quota(4, None, None), NOW)
        runs = [world.submit() for _ in range(4)]
        at_once(
            *[lambda r=r: world.db.runs.admit(r.id, NOW) for r in runs],
            *[lambda q=q: world.db.groups.set_quota("vision", Quota(q, None, None), NOW) for q in (3, 2, 1)],
        )
        group = world.db.groups.get("vision")
        begun = world.db.charges.list(open_only=True)
        assert group.used == ONE.times(len(begun))
        assert group.used.gpu <= group.quota.gpu
        for run in runs:
            world.db.runs.stop(run.id, NOW, by="ann")
            world.db.runs.finish(run.id, Outcome.STOPPED, "", NOW)
