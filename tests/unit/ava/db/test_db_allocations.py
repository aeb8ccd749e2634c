"""What a run had while its pods had nodes: what is billed, beside what its admission reserved."""

import pytest
from sqlalchemy import exc, text

from ava.domain.model import Outcome
from ava.domain.resources import Resources
from tests.unit.ava.db.test_db_model_services import running as service
from tests.unit.ava.db.world import NOW, ONE, later

NONE = Resources()


def usage(world, until=1000):
    (found,) = world.db.charges.usage(NOW, later(until), now=later(until))
    return found


def admitted(world, asks=ONE, at=NOW):
    run = world.submit(asks, at=at)
    assert world.db.runs.admit(run.id, at) == ()
    return run


def test_a_run_that_waits_for_nodes_reserves_and_uses_nothing(world):
    run = admitted(world)
    world.db.runs.finish(run.id, Outcome.STOPPED, "", later(100))
    found = usage(world)
    assert (found.runs, found.gpu_seconds, found.reserved.gpu) == (1, 0, 100)
    assert world.db.runs.get(run.id).started is None


def test_use_begins_with_the_nodes_and_the_reservation_with_the_admission(world):
    run = admitted(world)
    assert world.db.allocations.record(run.id, ONE, later(31), since=later(30)) == later(30)
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(100))
    found = usage(world)
    assert (found.gpu_seconds, found.cpu_seconds, found.memory_seconds) == (70, 70_000, 70 * 2**30)
    assert found.reserved == Resources(100, 100_000, 100 * 2**30)
    assert world.db.runs.get(run.id).started == later(30)
    assert [(c.began, c.allocated, c.ended) for c in world.db.charges.list()] == [
        (NOW, later(30), later(100))
    ]


def test_use_ends_with_the_pods_where_the_operator_was_away(world):
    run = admitted(world)
    world.db.allocations.record(run.id, ONE, later(500), since=later(10), until=later(40))
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(500))
    assert (usage(world).gpu_seconds, usage(world).reserved.gpu) == (30, 500)


def test_the_same_again_changes_nothing_and_no_time_is_counted_twice(world):
    run = admitted(world)
    for _ in range(3):
        world.db.allocations.record(run.id, ONE, later(20), since=later(10))
    world.db.allocations.record(run.id, NONE, later(50), until=later(40))
    for _ in range(3):
        # An operator that began again tells of what has ended once more.
        world.db.allocations.record(run.id, ONE, later(60), since=later(10), until=later(40))
    world.db.allocations.record(run.id, ONE, later(70), since=later(5))
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(100))
    assert usage(world).gpu_seconds == 30 + 60


def test_between_two_attempts_nothing_is_used(world):
    run = admitted(world)
    world.db.allocations.record(run.id, ONE, later(10), since=later(10))
    world.db.allocations.record(run.id, NONE, later(20), until=later(20))
    world.db.allocations.record(run.id, ONE, later(80), since=later(80))
    assert usage(world, 100).gpu_seconds == 10 + 20
    assert world.db.runs.get(run.id).started == later(10)


@pytest.mark.parametrize("since, until", [(-50, 40), (10, 4000), (90, 10)])
def test_times_of_clocks_that_are_wrong_stay_within_the_reservation(world, since, until):
    run = admitted(world)
    world.db.allocations.record(run.id, ONE, later(100), since=later(since), until=later(until))
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(100))
    found = usage(world)
    assert 0 <= found.gpu_seconds <= found.reserved.gpu == 100


def test_a_service_uses_what_has_nodes_and_goes_on_with_the_next_charge(world):
    run = service(world)
    world.db.allocations.record(run, ONE, NOW, since=NOW)
    assert world.db.model_services.recharge(run, ONE, later(10)) == ()
    assert len(world.db.charges.list(run=run)) == 2
    found = usage(world, 20)
    assert (found.gpu_seconds, found.reserved.gpu) == (20, 10 * 2 + 10)


def test_what_an_operator_of_before_left_open_ends_with_its_charge(world):
    run = admitted(world)
    world.db.allocations.record(run.id, ONE, NOW, since=NOW)
    with world.db.engine.begin() as connection:
        # The release of before ends charges alone.
        connection.execute(text("UPDATE charges SET ended = :then"), {"then": "2026-11-24 12:00:30.000000"})
    assert usage(world).gpu_seconds == 30


@pytest.mark.parametrize(
    "statement",
    ["UPDATE allocations SET gpu = 0", "UPDATE allocations SET began = ended", "DELETE FROM allocations"],
)
def test_what_was_allocated_is_never_edited(world, statement):
    run = admitted(world)
    world.db.allocations.record(run.id, ONE, later(50), since=NOW, until=later(40))
    with pytest.raises(exc.DBAPIError), world.db.engine.begin() as connection:
        connection.execute(text(statement))
