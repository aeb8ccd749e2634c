"""Workbenches' disks: in which group's quota they count, that they never shrink, and that nothing is left of them."""

import threading

import pytest

from ava.domain.model import Kind, Outcome, Quota
from tests.unit.ava.db.world import NOW, ONE, ROOM, SPEC, World, code, later

GIB = 2**30


@pytest.fixture
def world(db):
    made = World(db)
    quota(made, 10 * GIB)
    return made


def quota(world, disk, group="vision"):
    world.db.groups.set_quota(group, Quota(ROOM.gpu, ROOM.cpu, ROOM.memory, disk=disk), NOW)


def bench(world, disk=4 * GIB, name="bench", owner="ann"):
    spec = SPEC | {"kind": "workbench", "disk": disk}
    return world.db.definitions.save(owner, Kind.WORKBENCH, name, spec, NOW, replace=True).id


def start(world, id, key, **more):
    spec = world.db.definitions.get(id).spec
    report = {"queue": "default", "priority": 50, "cluster": "default"} | more
    return world.db.runs.create(id, key, NOW, asks=ONE, spec=spec, **report)


def run_once(world, id, key, **more):
    run = start(world, id, key, **more)
    world.db.runs.stop(run.id, later(1), by="ann")
    return run


def test_the_first_start_makes_it_in_the_group_of_the_moment_and_it_stays_there(world):
    id = bench(world)
    assert world.db.disks.get(id) is None
    assert run_once(world, id, "1").group == "vision"
    made = world.db.disks.get(id)
    assert (made.group, made.wanted, made.size, made.node, made.deleted) == ("vision", 4 * GIB, 0, "", False)
    world.db.groups.create("speech", ROOM, NOW)
    world.db.groups.add_member("speech", "ann", NOW)
    world.db.users.set_default_group("ann", "speech")
    assert run_once(world, id, "2").group == "vision"


def test_who_is_in_its_group_no_more_is_reported_and_charged_nowhere_else(world):
    id = bench(world)
    run_once(world, id, "1")
    world.db.groups.create("speech", ROOM, NOW)
    world.db.groups.add_member("speech", "ann", NOW)
    world.db.groups.remove_member("vision", "ann", NOW)
    assert code(start, world, id, "2") == (409, "disk-of-group")


def test_a_group_never_has_more_than_its_quota_and_the_refused_run_leaves_nothing(world):
    run_once(world, bench(world, 6 * GIB, "one"), "1")
    two = bench(world, 5 * GIB, "two")
    assert code(start, world, two, "2") == (409, "disk-quota")
    assert world.db.disks.get(two) is None
    quota(world, None)
    run_once(world, two, "3")
    quota(world, 0)
    assert code(start, world, bench(world, GIB, "three"), "4") == (409, "disk-quota")


def test_two_that_ask_at_once_for_the_last_room_do_not_both_get_it(world):
    ids = [bench(world, 6 * GIB, f"b{i}") for i in range(4)]
    done = []

    def one(id):
        try:
            done.append(start(world, id, id))
        except Exception as error:
            done.append(error)

    threads = [threading.Thread(target=one, args=(id,)) for id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([d for d in done if not isinstance(d, Exception)]) == 1


def test_it_grows_at_once_and_at_the_next_start_and_never_shrinks_below_what_it_has(world):
    id = bench(world)
    world.db.disks.grow(id, 5 * GIB)
    assert world.db.definitions.get(id).spec["disk"] == 5 * GIB
    run_once(world, id, "1")
    world.db.disks.record(id, "w1", 5 * GIB, "")
    world.db.disks.grow(id, 7 * GIB)
    assert (world.db.disks.get(id).wanted, world.db.disks.get(id).size) == (7 * GIB, 5 * GIB)
    assert world.db.definitions.get(id).spec["disk"] == 7 * GIB
    assert code(world.db.disks.grow, id, 4 * GIB) == (422, "disk-shrinks")
    world.db.disks.grow(id, 5 * GIB)  # what was not available is given up
    assert code(world.db.disks.grow, id, 11 * GIB) == (409, "disk-quota")
    assert code(bench, world, 3 * GIB) == (422, "disk-shrinks")
    assert world.db.definitions.get(id).spec["disk"] == 5 * GIB
    bench(world, 8 * GIB)
    assert world.db.disks.get(id).wanted == 8 * GIB, "another definition is at once, too"
    bench(world, None)
    assert run_once(world, id, "3").group == "vision"
    assert world.db.disks.get(id).wanted == 8 * GIB, "it stays as long as the workbench"


def test_a_workbench_without_one_has_none_to_grow(world):
    id = bench(world, None)
    run_once(world, id, "1")
    assert world.db.disks.get(id) is None
    assert code(world.db.disks.grow, id, GIB) == (409, "no-disk")


def test_it_counts_until_nothing_is_left_of_it_and_then_not_any_more(world):
    id = bench(world, 10 * GIB)
    run_once(world, id, "1")
    world.db.disks.record(id, "w1", 10 * GIB, "")
    assert world.db.disks.list_open("default") == []
    world.db.definitions.delete(id, later(2))
    (left,) = world.db.disks.list_open("default")
    assert (left.definition, left.deleted) == (id, True)
    assert world.db.disks.list_open("other") == []
    two = bench(world, GIB, "two")
    assert code(start, world, two, "2") == (409, "disk-quota")
    world.db.disks.delete(id)
    run_once(world, two, "2")
    world.db.disks.record(id, "w1", 5, "")  # one who was late finds nothing
    assert world.db.disks.get(id) is None


def test_a_group_with_disks_is_not_deleted(world):
    id = bench(world)
    run_once(world, id, "1")
    world.db.groups.remove_member("vision", "ann", NOW)
    assert code(world.db.groups.delete, "vision", NOW) == (409, "group-in-use")
    world.db.definitions.delete(id, NOW)
    world.db.disks.delete(id)
    world.db.groups.delete("vision", NOW)


def test_what_is_to_be_done_is_what_is_not_as_wanted_or_in_trouble(world):
    id = bench(world)
    run_once(world, id, "1")
    assert [d.definition for d in world.db.disks.list_open("default")] == [id]
    world.db.disks.record(id, "w1", 4 * GIB, "its node is gone")
    assert world.db.disks.list_open("default")[0].trouble == "its node is gone"
    world.db.disks.record(id, "w1", None, "")
    assert (world.db.disks.list_open("default"), world.db.disks.get(id).size) == ([], 4 * GIB)


def test_another_cluster_does_not_have_it(world):
    id = bench(world)
    run_once(world, id, "1")
    assert code(start, world, id, "2", cluster="other") == (409, "disk-elsewhere")


def test_the_same_start_sent_twice_is_one(world):
    id = bench(world)
    run = start(world, id, "1")
    assert start(world, id, "1").id == run.id
    world.db.runs.admit(run.id, NOW)
    world.db.runs.stop(run.id, NOW, by="ann")
    world.db.runs.finish(run.id, Outcome.STOPPED, "", NOW)
    assert start(world, id, "1").id == run.id


def test_a_node_that_is_not_the_disk_s_is_refused(world):
    id = bench(world)
    run_once(world, id, "1")
    world.db.disks.record(id, "w1", 4 * GIB, "")
    spec = SPEC | {"kind": "workbench", "disk": 4 * GIB, "node": "w2"}
    world.db.definitions.save("ann", Kind.WORKBENCH, "bench", spec, NOW, replace=True)
    assert code(start, world, id, "2") == (409, "disk-elsewhere")
    spec["node"] = "w1"
    world.db.definitions.save("ann", Kind.WORKBENCH, "bench", spec, NOW, replace=True)
    assert run_once(world, id, "3").group == "vision"


def test_a_wish_that_is_taken_back_frees_no_quota_until_the_node_has_given_no_more(world):
    one, two = bench(world, 2 * GIB, "one"), bench(world, 2 * GIB, "two")
    run_once(world, one, "1")
    run_once(world, two, "2")
    for id in (one, two):
        world.db.disks.record(id, "w1", 2 * GIB, "")
    world.db.disks.grow(one, 8 * GIB)
    world.db.disks.grow(one, 2 * GIB)  # the claim may say 8 GiB by now, and the node be growing it
    assert code(world.db.disks.grow, two, 8 * GIB) == (409, "disk-quota")
    assert code(bench, world, 8 * GIB, "two") == (409, "disk-quota")
    world.db.disks.record(one, "w1", 2 * GIB, "")  # the report of before
    assert code(world.db.disks.grow, two, 8 * GIB) == (409, "disk-quota")
    assert [d.definition for d in world.db.disks.list_open("default")] == [one], (
        "it is looked at until it is settled"
    )
    world.db.disks.record(one, "w1", 2 * GIB, "", settled=True)
    world.db.disks.grow(two, 8 * GIB)
    assert world.db.disks.list_open("default")[0].promised == 8 * GIB


def test_what_the_node_has_given_counts_whatever_is_wished(world):
    id = bench(world, 2 * GIB)
    run_once(world, id, "1")
    world.db.disks.grow(id, 8 * GIB)
    world.db.disks.grow(id, 2 * GIB)
    world.db.disks.record(id, "w1", 8 * GIB, "", settled=True)
    disk = world.db.disks.get(id)
    assert (disk.wanted, disk.size, disk.promised) == (8 * GIB, 8 * GIB, 8 * GIB)


def test_taken_back_and_wished_again_is_the_same_room(world):
    id = bench(world, 10 * GIB)
    run_once(world, id, "1")
    for size in (4, 10, 4, 10):
        world.db.disks.grow(id, size * GIB)
    assert world.db.disks.get(id).promised == 10 * GIB


def test_who_left_the_group_grows_no_disk_of_it(world):
    id = bench(world)
    run_once(world, id, "1")
    world.db.groups.create("speech", ROOM, NOW)
    world.db.groups.add_member("speech", "ann", NOW)
    world.db.groups.remove_member("vision", "ann", NOW)
    assert code(world.db.disks.grow, id, 9 * GIB) == (409, "disk-of-group")
    assert code(bench, world, 9 * GIB) == (409, "disk-of-group")
    world.db.disks.grow(id, 2 * GIB)
    assert world.db.disks.get(id).wanted == 2 * GIB
