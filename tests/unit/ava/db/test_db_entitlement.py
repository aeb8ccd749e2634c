"""A run grows, changes and begins only while its owner is active, in the group that is charged, and may read its data."""

import pytest

from ava.domain.model import Kind, UserState
from ava.domain.resources import Resources
from tests.unit.ava.db.test_db_model_services import ONE, spec
from tests.unit.ava.db.world import NOW, World, code


@pytest.fixture
def world(db):
    made = World(db)
    made.person("bob", "vision")
    made.db.groups.create("other", made.db.groups.get("vision").quota, NOW)
    return made


def serve(world, document=None, owner="bob", admitted=True):
    document = document or spec()
    definition = world.db.definitions.save(owner, Kind.SERVICE, "serve", document, NOW)
    run = world.db.runs.create(
        definition.id,
        f"k-{owner}",
        NOW,
        asks=ONE.times(2),
        spec=document,
        queue="default",
        priority=50,
        cluster="default",
    )
    if admitted:
        assert world.db.runs.admit(run.id, NOW) == ()
    return run.id


def away(world):
    """What takes the entitlement to a service of bob's away, by name."""
    db = world.db
    return {
        "not-a-member": lambda: db.groups.remove_member("vision", "bob", NOW),
        "user-not-active": lambda: db.users.update("bob", NOW, state=UserState.DISABLED),
    }


@pytest.mark.parametrize("why", ["not-a-member", "user-not-active"])
@pytest.mark.parametrize("further", [False, True], ids=["in no group", "in another group"])
def test_a_service_whose_owner_lost_the_group_scales_down_only(world, why, further):
    run = serve(world)
    if further:
        world.db.groups.add_member("other", "bob", NOW)
    away(world)[why]()
    assert code(world.db.model_services.scale, run, 3, NOW) == (409, why)
    assert code(world.db.model_services.update, run, spec(image="mine:2"), NOW) == (409, why)
    (problem,) = world.db.model_services.recharge(run, ONE.times(3), NOW)
    assert problem.code == why
    assert world.db.groups.get("vision").used == ONE.times(2)
    assert world.db.model_services.get(run).target == 0
    assert world.db.model_services.scale(run, 1, NOW).wanted == 1
    assert world.db.model_services.recharge(run, ONE, NOW) == ()
    assert world.db.groups.get("vision").used == ONE
    assert world.db.runs.stop(run, NOW, by="bob").stop == NOW


def test_any_user_who_asks_it_is_the_owner_who_must_be_a_member_and_it_goes_on_once_they_are_again(world):
    run = serve(world)
    world.db.groups.remove_member("vision", "bob", NOW)
    assert code(world.db.model_services.scale, run, 3, NOW) == (409, "not-a-member")
    world.db.groups.add_member("vision", "bob", NOW)
    assert world.db.model_services.scale(run, 3, NOW).wanted == 3
    assert world.db.model_services.recharge(run, ONE.times(3), NOW) == ()


@pytest.mark.parametrize("by", ["user", "group"])
def test_data_that_was_taken_back_comes_to_no_further_replica_and_no_other_code(world, by):
    db = world.db
    data = db.data_sets.create("ann", "faces", {"kind": "folder"}, NOW).id
    db.data_sets.share(data, by, {"user": "bob", "group": "vision"}[by], NOW)
    reply = spec(data_sets=[{"name": data}])
    run = serve(world, reply)
    assert db.model_services.scale(run, 3, NOW).wanted == 3
    db.data_sets.unshare(data, by, {"user": "bob", "group": "vision"}[by])
    assert code(db.model_services.scale, run, 4, NOW) == (409, "data-set-revoked")
    assert code(db.model_services.update, run, spec(image="mine:2", data_sets=[{"name": data}]), NOW) == (
        409,
        "data-set-revoked",
    )
    assert [p.code for p in db.model_services.recharge(run, ONE.times(3), NOW)] == ["data-set-revoked"]
    assert db.model_services.scale(run, 1, NOW).wanted == 1


def test_a_run_that_waits_is_not_admitted_for_a_group_that_its_owner_left(world):
    run = serve(world, admitted=False)
    training = world.submit(owner="bob").id
    world.db.groups.remove_member("vision", "bob", NOW)
    for one in (run, training):
        (problem,) = world.db.runs.admit(one, NOW)
        assert problem.code == "not-a-member" and "vision" in problem.what
    assert world.db.groups.get("vision").used == Resources(0, 0, 0)
    assert code(world.db.model_services.update, run, spec(image="mine:2"), NOW) == (409, "not-a-member")
    world.db.groups.add_member("vision", "bob", NOW)
    assert world.db.runs.admit(training, NOW) == ()
