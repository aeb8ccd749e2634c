"""Groups: members, the default, quotas, removal."""

import pytest

from ava.domain.model import Outcome, Quota, Topic
from ava.domain.resources import Resources
from tests.unit.ava.db.world import NOW, ONE, ROOM, code, later, refused


def test_a_group_has_the_next_gid_its_quota_and_uses_nothing(store):
    first = store.add_group("vision", ROOM, NOW)
    second = store.add_group("speech", Quota(gpu=None, cpu=None, memory=None, storage=2**40), NOW)
    assert second.gid == first.gid + 1 >= 20_000
    assert first.quota == ROOM and first.used == Resources()
    assert store.group("speech") == store.group(second.id) == second
    assert second.quota == Quota(gpu=None, cpu=None, memory=None, storage=2**40)
    assert code(store.add_group, "vision", ROOM, NOW) == (409, "name-taken")


def test_groups_come_in_pages_by_name_all_or_a_users(world):
    for name in ("beta", "alpha", "gamma"):
        world.store.add_group(name, ROOM, NOW)
    world.store.add_member("gamma", "ann", NOW)
    first = world.store.groups(limit=3)
    assert [g.name for g in first.items] == ["alpha", "beta", "gamma"]
    assert [g.name for g in world.store.groups(limit=3, after=first.next).items] == ["vision"]
    assert [g.name for g in world.store.groups(user="ann").items] == ["gamma", "vision"]
    assert [g.name for g in world.store.groups(user=world.store.user("ann").id, limit=1).items] == ["gamma"]


def test_membership_twice_does_no_harm(world):
    world.person("bob")
    world.store.add_member("vision", "bob", NOW)
    report = world.kinds(Topic.OPERATOR)
    world.store.add_member("vision", "bob", later(1))
    assert [u.name for u in world.store.members("vision")] == ["ann", "bob"]
    assert world.kinds(Topic.OPERATOR) == report


def test_the_default_becomes_the_oldest_membership_left(world):
    for seconds, name in ((1, "zoo"), (2, "alpha"), (3, "beta")):
        world.store.add_group(name, ROOM, NOW)
        world.store.add_member(name, "ann", later(seconds))
    world.store.remove_member("beta", "ann", NOW)
    assert world.store.user("ann").default_group == "vision"
    world.store.remove_member("vision", "ann", NOW)
    assert world.store.user("ann").default_group == "zoo"
    for left in ("zoo", "alpha"):
        world.store.remove_member(left, "ann", NOW)
    assert world.store.user("ann").default_group is None
    assert code(world.store.remove_member, "zoo", "ann", NOW) == (404, "not-found")


def test_runs_go_on_charged_to_the_group_that_their_owner_left(world):
    run = world.running()
    world.store.add_group("speech", ROOM, NOW)
    world.store.add_member("speech", "ann", NOW)
    world.store.remove_member("vision", "ann", NOW)
    assert world.store.group("vision").used == ONE
    assert world.submit().group == "speech"
    world.store.finish(run.id, Outcome.SUCCEEDED, "", later(1))
    assert world.store.group("vision").used == Resources()
    assert world.store.group("speech").used == Resources()


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
    refusal = refused(world.store.set_quota, "vision", quota, NOW)
    assert (refusal.status, refusal.problems[0].code) == (409, "quota-below-use")
    assert [p.where for p in refusal.problems] == [where]
    assert refusal.problems[0].found and refusal.problems[0].wanted and refusal.problems[0].remedy
    assert world.store.group("vision").quota == ROOM


def test_a_quota_may_be_set_to_exactly_what_is_used_and_taken_off(world):
    world.running()
    exact = Quota(*ONE, storage=2**40)
    assert world.store.set_quota("vision", exact, NOW).quota == exact
    more = world.submit()
    assert world.store.admit(more.id, NOW)
    world.store.set_quota("vision", Quota(None, None, None), NOW)
    assert world.store.admit(more.id, NOW) == ()


def test_a_changed_quota_is_told_to_scheduler_and_operator(world):
    world.store.set_quota("vision", Quota(8, None, None), NOW)
    assert ("group-changed", "vision") in world.kinds(Topic.SCHEDULER)
    assert ("group-changed", "vision") in world.kinds(Topic.OPERATOR)


def test_a_group_in_use_is_not_removed(world):
    run = world.running()
    refusal = refused(world.store.delete_group, "vision", NOW)
    assert refusal.status == 409
    assert refusal.problems[0].found == "1 members, 1 runs that are not finished, 0 disks"
    world.store.remove_member("vision", "ann", NOW)
    assert code(world.store.delete_group, "vision", NOW) == (409, "group-in-use")
    world.store.finish(run.id, Outcome.FAILED, "", NOW)
    world.store.delete_group("vision", NOW)
    assert code(world.store.group, "vision") == (404, "not-found")
    assert code(world.store.delete_group, "vision", NOW) == (404, "not-found")
    assert world.store.groups().items == ()


def test_the_name_of_a_removed_group_is_not_given_again_and_its_charges_stay(world):
    run = world.running()
    world.store.finish(run.id, Outcome.SUCCEEDED, "", later(60))
    world.store.remove_member("vision", "ann", NOW)
    world.store.delete_group("vision", NOW)
    assert code(world.store.add_group, "vision", ROOM, NOW) == (409, "name-taken")
    assert [c.run for c in world.store.charges(group="vision")] == [run.id]
    assert [u.gpu_seconds for u in world.store.usage(NOW, later(3600), now=later(3600))] == [60]
    assert code(world.store.add_member, "vision", "ann", NOW) == (404, "not-found")
