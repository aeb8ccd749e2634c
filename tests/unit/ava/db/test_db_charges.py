"""Charges and what was used: never edited, and the same for ever."""

import pytest
from sqlalchemy import exc, text

from ava.domain.model import Outcome
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, ROOM, code, later

DAY = 86_400


def test_usage_is_amount_times_seconds_within_the_stretch(world):
    run = world.running(Resources(2, 1500, 2**30), at=later(-100))
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(50))
    (whole,) = world.db.charges.usage(later(-1000), later(1000), now=later(1000))
    assert (whole.user, whole.group, whole.runs) == ("ann", "vision", 1)
    assert (whole.gpu_seconds, whole.cpu_seconds, whole.memory_seconds) == (300, 225_000, 150 * 2**30)
    (part,) = world.db.charges.usage(NOW, later(20), now=later(1000))
    assert part.gpu_seconds == 40
    assert world.db.charges.usage(later(51), later(60), now=later(1000)) == []


def test_an_open_charge_counts_until_now_and_not_into_the_future(world):
    world.running(at=NOW)
    (usage,) = world.db.charges.usage(NOW, later(DAY), now=later(10))
    assert usage.gpu_seconds == 10
    (usage,) = world.db.charges.usage(NOW, later(DAY), now=later(2 * DAY))
    assert usage.gpu_seconds == DAY


def test_usage_is_reported_by_user_and_group(world):
    world.db.groups.create("speech", ROOM, NOW)
    world.person("bob", "speech", "vision")
    world.running(owner="ann")
    world.running(owner="bob")
    world.db.users.set_default_group("bob", "vision")
    for _ in range(2):
        world.running(owner="bob")

    def used(**wanted):
        return [
            (u.user, u.group, u.runs, u.gpu_seconds)
            for u in world.db.charges.usage(NOW, later(10), now=later(10), **wanted)
        ]

    assert used() == [("ann", "vision", 1, 10), ("bob", "speech", 1, 10), ("bob", "vision", 2, 20)]
    assert used(group="vision") == [("ann", "vision", 1, 10), ("bob", "vision", 2, 20)]
    assert used(user="bob", group="speech") == [("bob", "speech", 1, 10)]


def test_large_amounts_over_a_year_are_counted(world):
    world.db.groups.set_quota("vision", type(ROOM)(None, None, None), NOW)
    run = world.running(Resources(512, 10**6, 2**46), at=NOW)
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(365 * DAY))
    (usage,) = world.db.charges.usage(NOW, later(366 * DAY), now=later(366 * DAY))
    assert usage.gpu_seconds == 512 * 365 * DAY
    assert usage.memory_seconds == 2**46 * 365 * DAY


def test_milliseconds_count(world):
    for _ in range(4):
        run = world.running(at=NOW)
        world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(0.25))
    (usage,) = world.db.charges.usage(NOW, later(10), now=later(10))
    assert (usage.runs, usage.gpu_seconds) == (4, 1)


def test_charges_come_oldest_first_and_by_what_is_asked(world):
    runs = [world.running(at=later(n)) for n in range(4)]
    world.db.runs.finish(runs[0].id, Outcome.SUCCEEDED, "", later(9))
    assert [c.run for c in world.db.charges.list()] == [r.id for r in runs]
    assert [c.run for c in world.db.charges.list(open_only=True)] == [r.id for r in runs[1:]]
    assert [c.run for c in world.db.charges.list(run=runs[2].id)] == [runs[2].id]
    first = world.db.charges.list(limit=2)
    assert [c.run for c in world.db.charges.list(after=first[-1].id)] == [r.id for r in runs[2:]]
    assert world.db.charges.list(group="vision", open_only=True)[0].amount == ONE


def test_a_stretch_that_ends_before_it_begins_is_refused(world):
    assert code(world.db.charges.usage, NOW, NOW, now=NOW) == (422, "time-order")
    naive = NOW.replace(tzinfo=None)
    assert code(world.db.charges.usage, naive, later(1), now=NOW) == (422, "time-without-zone")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE charges SET gpu = 0",
        "UPDATE charges SET ended = NULL",
        "UPDATE charges SET ended = began",
        "UPDATE charges SET run = run",
        "UPDATE charges SET user_name = 'bob'",
        "DELETE FROM charges",
        "UPDATE audit SET who = 'nobody'",
        "DELETE FROM audit",
        "UPDATE groups SET used_gpu = -1",
        "UPDATE groups SET used_gpu = quota_gpu + 1",
        "UPDATE groups SET quota_gpu = 0",
        "UPDATE runs SET phase = 'running'",
        "UPDATE runs SET phase = 'queued'",
    ],
)
def test_the_data_base_itself_refuses_to_bend_what_was(world, statement):
    run, _ = world.running(), world.running()
    world.db.runs.finish(run.id, Outcome.FAILED, "", later(5))
    world.db.audit.write(NOW, who="ann", action="stop", object="x", outcome="ok", address="::1", detail={})
    before = (
        world.db.charges.list(),
        world.db.audit.list(),
        world.db.groups.get("vision"),
        world.db.runs.get(run.id),
    )
    with pytest.raises(exc.DBAPIError), world.db.engine.begin() as connection:
        connection.execute(text(statement))
    assert before == (
        world.db.charges.list(),
        world.db.audit.list(),
        world.db.groups.get("vision"),
        world.db.runs.get(run.id),
    )
