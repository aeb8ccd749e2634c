"""A run grows, changes and begins only while its owner is active, in the group that is charged, and may read its data."""

import pytest

from ava.domain.model import Kind, UserState
from ava.domain.resources import Resources
from tests.unit.ava.db.test_db_model_services import ONE, spec
from tests.unit.ava.db.world import NOW, World, code


@pytest.fixture
def world(store):
    made = World(store)
    made.person("bob", "vision")
    made.store.add_group("other", made.store.group("vision").quota, NOW)
    return made


def serve(world, said=None, owner="bob", admitted=True):
    said = said or spec()
    definition = world.store.save_definition(owner, Kind.SERVICE, "serve", said, NOW)
    run = world.store.submit(
        definition.id,
        f"k-{owner}",
        NOW,
        asks=ONE.times(2),
        spec=said,
        queue="default",
        priority=50,
        cluster="default",
    )
    if admitted:
        assert world.store.admit(run.id, NOW) == ()
    return run.id


def away(world):
    """What takes the entitlement to a service of bob's away, by name."""
    store = world.store
    return {
        "not-a-member": lambda: store.remove_member("vision", "bob", NOW),
        "user-not-active": lambda: store.set_user("bob", NOW, state=UserState.DISABLED),
    }


@pytest.mark.parametrize("why", ["not-a-member", "user-not-active"])
@pytest.mark.parametrize("further", [False, True], ids=["in no group", "in another group"])
def test_a_service_whose_owner_lost_the_group_scales_down_only(world, why, further):
    run = serve(world)
    if further:
        world.store.add_member("other", "bob", NOW)
    away(world)[why]()
    assert code(world.store.scale_service, run, 3, NOW) == (409, why)
    assert code(world.store.update_service, run, spec(image="mine:2"), NOW) == (409, why)
    (problem,) = world.store.recharge(run, ONE.times(3), NOW)
    assert problem.code == why
    assert world.store.group("vision").used == ONE.times(2)
    assert world.store.service(run).target == 0
    assert world.store.scale_service(run, 1, NOW).wanted == 1
    assert world.store.recharge(run, ONE, NOW) == ()
    assert world.store.group("vision").used == ONE
    assert world.store.stop(run, NOW, by="bob").stop == NOW


def test_whoever_asks_it_is_the_owner_who_must_be_a_member_and_it_goes_on_once_they_are_again(world):
    run = serve(world)
    world.store.remove_member("vision", "bob", NOW)
    assert code(world.store.scale_service, run, 3, NOW) == (409, "not-a-member")
    world.store.add_member("vision", "bob", NOW)
    assert world.store.scale_service(run, 3, NOW).wanted == 3
    assert world.store.recharge(run, ONE.times(3), NOW) == ()


@pytest.mark.parametrize("by", ["user", "group"])
def test_data_that_was_taken_back_comes_to_no_further_replica_and_no_other_code(world, by):
    store = world.store
    data = store.add_data_set("ann", "faces", {"kind": "folder"}, NOW).id
    store.share(data, by, {"user": "bob", "group": "vision"}[by], NOW)
    reply = spec(data_sets=[{"name": data}])
    run = serve(world, reply)
    assert store.scale_service(run, 3, NOW).wanted == 3
    store.unshare(data, by, {"user": "bob", "group": "vision"}[by])
    assert code(store.scale_service, run, 4, NOW) == (409, "data-set-revoked")
    assert code(store.update_service, run, spec(image="mine:2", data_sets=[{"name": data}]), NOW) == (
        409,
        "data-set-revoked",
    )
    assert [p.code for p in store.recharge(run, ONE.times(3), NOW)] == ["data-set-revoked"]
    assert store.scale_service(run, 1, NOW).wanted == 1


def test_a_run_that_waits_is_not_admitted_for_a_group_that_its_owner_left(world):
    run = serve(world, admitted=False)
    training = world.submit(owner="bob").id
    world.store.remove_member("vision", "bob", NOW)
    for one in (run, training):
        (problem,) = world.store.admit(one, NOW)
        assert problem.code == "not-a-member" and "vision" in problem.what
    assert world.store.group("vision").used == Resources(0, 0, 0)
    assert code(world.store.update_service, run, spec(image="mine:2"), NOW) == (409, "not-a-member")
    world.store.add_member("vision", "bob", NOW)
    assert world.store.admit(training, NOW) == ()
