"""Groups: members, the default, quotas, removal."""

import pytest

from ava.domain.model import Outcome, Quota, Topic
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, ROOM, code, later, refused


def test_a_group_has_the_next_gid_its_quota_and_uses_nothing(db):
    first = db.groups.create("vision", ROOM, NOW)
    second = db.groups.create("speech", Quota(gpu=None, cpu=None, memory=None, storage=2**40), NOW)
    assert second.gid == first.gid + 1 >= 20_000
    assert first.quota == ROOM and first.used == Resources()
    assert db.groups.get("speech") == db.groups.get(second.id) == second
    assert second.quota == Quota(gpu=None, cpu=None, memory=None, storage=2**40)
    assert code(db.groups.create, "vision", ROOM, NOW) == (409, "name-taken")


def test_groups_come_in_pages_by_name_all_or_a_users(world):
    for name in ("beta", "alpha", "gamma"):
        world.db.groups.create(name, ROOM, NOW)
    world.db.groups.add_member("gamma", "ann", NOW)
    first = world.db.groups.list(limit=3)
    assert [g.name for g in first.items] == ["alpha", "beta", "gamma"]
    assert [g.name for g in world.db.groups.list(limit=3, after=first.next).items] == ["vision"]
    assert [g.name for g in world.db.groups.list(user="ann").items] == ["gamma", "vision"]
    assert [g.name for g in world.db.groups.list(user=world.db.users.get("ann").id, limit=1).items] == [
        "gamma"
    ]


def test_membership_twice_does_no_harm(world):
    world.person("bob")
    world.db.groups.add_member("vision", "bob", NOW)
    report = world.kinds(Topic.OPERATOR)
    world.db.groups.add_member("vision", "bob", later(1))
    assert [u.name for u in world.db.groups.members("vision")] == ["ann", "bob"]
    assert world.kinds(Topic.OPERATOR) == report


def test_the_default_becomes_the_oldest_membership_left(world):
    for seconds, name in ((1, "zoo"), (2, "alpha"), (3, "beta")):
        world.db.groups.create(name, ROOM, NOW)
        world.db.groups.add_member(name, "ann", later(seconds))
    world.db.groups.remove_member("beta", "ann", NOW)
    assert world.db.users.get("ann").default_group == "vision"
    world.db.groups.remove_member("vision", "ann", NOW)
    assert world.db.users.get("ann").default_group == "zoo"
    for left in ("zoo", "alpha"):
        world.db.groups.remove_member(left, "ann", NOW)
    assert world.db.users.get("ann").default_group is None
    assert code(world.db.groups.remove_member, "zoo", "ann", NOW) == (404, "not-found")


def test_runs_go_on_charged_to_the_group_that_their_owner_left(world):
    run = world.running()
    world.db.groups.create("speech", ROOM, NOW)
    world.db.groups.add_member("speech", "ann", NOW)
    world.db.groups.remove_member("vision", "ann", NOW)
    assert world.db.groups.get("vision").used == ONE
    assert world.submit().group == "speech"
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(1))
    assert world.db.groups.get("vision").used == Resources()
    assert world.db.groups.get("speech").used == Resources()


@pytest.mark.parametrize(
    ("quota", "where"),
    [
        (Quota(gpu=1, cpu=16_000, memory=2**40), "quota.gpu"),
        (Quota(gpu=4, cpu=1999, memory=2**40), "quota.cpu"),
        (Quota(gpu=4, cpu=16_000, memory=2**31 - 1), "quota.memory"),
    ],
)
def test_a_quota_is_not_set_below_what_is_used(world, quota, where):
    for _ in range(2):
        world.running()
    refusal = refused(world.db.groups.set_quota, "vision", quota, NOW)
    assert (refusal.status, refusal.problems[0].code) == (409, "quota-below-use")
    assert [p.where for p in refusal.problems] == [where]
    assert refusal.problems[0].found and refusal.problems[0].wanted and refusal.problems[0].remedy
    assert world.db.groups.get("vision").quota == ROOM


def test_a_quota_may_be_set_to_exactly_what_is_used_and_taken_off(world):
    world.running()
    exact = Quota(*ONE, storage=2**40)
    assert world.db.groups.set_quota("vision", exact, NOW).quota == exact
    more = world.submit()
    assert world.db.runs.admit(more.id, NOW)
    world.db.groups.set_quota("vision", Quota(None, None, None), NOW)
    assert world.db.runs.admit(more.id, NOW) == ()


def test_a_changed_quota_is_reported_to_scheduler_and_operator(world):
    world.db.groups.set_quota("vision", Quota(8, None, None), NOW)
    assert ("group-changed", "vision") in world.kinds(Topic.SCHEDULER)
    assert ("group-changed", "vision") in world.kinds(Topic.OPERATOR)


def test_a_group_in_use_is_not_removed(world):
    run = world.running()
    refusal = refused(world.db.groups.delete, "vision", NOW)
    assert refusal.status == 409
    assert refusal.problems[0].found == "1 members, 1 runs that are not finished, 0 disks"
    world.db.groups.remove_member("vision", "ann", NOW)
    assert code(world.db.groups.delete, "vision", NOW) == (409, "group-in-use")
    world.db.runs.finish(run.id, Outcome.FAILED, "", NOW)
    world.db.groups.delete("vision", NOW)
    assert code(world.db.groups.get, "vision") == (404, "not-found")
    assert code(world.db.groups.delete, "vision", NOW) == (404, "not-found")
    assert world.db.groups.list().items == ()


def test_the_name_of_a_removed_group_is_not_given_again_and_its_charges_stay(world):
    run = world.running()
    world.db.runs.finish(run.id, Outcome.SUCCEEDED, "", later(60))
    world.db.groups.remove_member("vision", "ann", NOW)
    world.db.groups.delete("vision", NOW)
    assert code(world.db.groups.create, "vision", ROOM, NOW) == (409, "name-taken")
    assert [c.run for c in world.db.charges.list(group="vision")] == [run.id]
    assert [u.gpu_seconds for u in world.db.charges.usage(NOW, later(3600), now=later(3600))] == [60]
    assert code(world.db.groups.add_member, "vision", "ann", NOW) == (404, "not-found")
