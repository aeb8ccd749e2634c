"""Data sets in the database: whose they are, who reads them, one writer or many readers, and what is not deleted."""

import pytest

from ava.db import data_set_quotas
from ava.domain.data_sets import ExternalSource
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Kind, Outcome, Phase, Topic
from tests.unit.ava.db.world import NOW, ONE, SPEC, code, later

FOLDER = {"kind": "folder"}


@pytest.fixture
def digits(world):
    world.person("bob", "vision")
    world.person("eve")
    return world.store.add_data_set("ann", "digits", FOLDER, NOW).id


def run(world, owner, *names, write=False):
    """Return a queued run that names data sets."""
    spec = SPEC | {"data_sets": [{"name": name, "write": write} for name in names]}
    store = world.store
    definition = store.save_definition(owner, Kind.TRAINING, f"t{next(world._keys)}", spec, NOW).id
    key = f"data-{next(world._keys)}"
    return store.submit(
        definition, key, NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
    )


def why(world, one):
    return [p.code for p in world.store.admit(one.id, NOW)]


def test_the_same_again_is_the_same_and_another_source_is_refused(world, digits):
    store = world.store
    assert store.add_data_set("ann", "digits", FOLDER, later(5)).id == digits
    other = {"kind": "cache", "path": "s3/digits"}
    assert code(store.add_data_set, "ann", "digits", other, NOW) == (409, "name-taken")
    assert store.add_data_set("bob", "digits", FOLDER, NOW).id != digits


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"kind": "nfs"},
        {"kind": "cache", "path": "../x"},
        {"kind": "cache", "path": "/x"},
        {"kind": "cache", "path": "a/.hidden"},
        {"kind": "folder", "path": "x"},
        {"kind": "hdfs"},
        {"kind": "hdfs", "store": "../s3"},
        {"kind": "hdfs", "store": "big/sets"},
        {"kind": "hdfs", "store": "big", "path": "../s3"},
        {"kind": "hdfs", "store": "big", "path": ""},
        {"kind": "hdfs", "store": "nn1.test:8020"},
        {"kind": "rbd", "image": "i"},
        {"kind": "rbd", "image": "--pool=x", "snapshot": "v1"},
        {"kind": "rbd", "image": "other/i", "snapshot": "v1"},
        {"kind": "rbd", "image": "../i", "snapshot": "v1"},
        {"kind": "rbd", "image": "i@v0", "snapshot": "v1"},
        {"kind": "rbd", "image": "i", "snapshot": "v1\n"},
        {"kind": "rbd", "image": "i", "snapshot": "-f"},
        {"kind": "rbd", "image": "i", "snapshot": "pvc-1"},
        {"kind": "nfs", "server": "nfs.test", "path": "/a/../../etc"},
        {"kind": "nfs", "server": "nfs.test", "path": "a"},
        {"kind": "nfs", "server": "nfs.test", "path": "/"},
        {"kind": "nfs", "server": "nfs.test", "path": "/a,rw"},
        {"kind": "nfs", "server": "nfs.test", "path": "/a b"},
        {"kind": "nfs", "server": "-o", "path": "/a"},
        {"kind": "nfs", "server": "nfs.test:/b", "path": "/a"},
        {"kind": "nfs", "server": "nfs.test -o rw", "path": "/a"},
        {"kind": "nfs", "server": "nfs..test", "path": "/a"},
        {"kind": "nfs", "server": "nfs.test\n", "path": "/a"},
    ],
)
def test_what_is_no_source_is_refused(world, source):
    assert code(world.store.add_data_set, "ann", "x", source, NOW) == (422, "source-invalid")


def test_sharing_lets_read_and_taking_it_back_does_not(world, digits):
    store = world.store
    assert store.may_read(digits, "ann") and not store.may_read(digits, "bob")
    store.share(digits, "group", "vision", NOW)
    store.share(digits, "user", "eve", NOW)
    assert store.may_read(digits, "bob") and store.may_read(digits, "eve")
    assert [one.id for one in store.data_sets(reader="eve").items] == [digits]
    store.remove_member("vision", "bob", NOW)
    store.unshare(digits, "user", "eve")
    assert not store.may_read(digits, "bob") and not store.may_read(digits, "eve")
    assert code(store.unshare, digits, "user", "eve") == (404, "not-found")


def test_a_run_gets_what_its_owner_may_have_and_writes_only_what_is_theirs(world, digits):
    store = world.store
    for name in ("digits", digits):
        assert code(run, world, "bob", name) == (422, "data-set-unknown")
    store.share(digits, "user", "bob", NOW)
    assert code(run, world, "bob", digits, write=True) == (422, "data-set-read-only")
    assert code(run, world, "ann", digits, "digits") == (422, "data-set-twice")
    reads = run(world, "bob", digits)
    assert why(world, reads) == []
    assert [(one.id, write) for one, write in store.data_of(reads.id)] == [(digits, False)]


def test_many_read_or_one_writes(world, digits):
    first, second, writer = (
        run(world, "ann", "digits"),
        run(world, "ann", "digits"),
        run(world, "ann", "digits", write=True),
    )
    assert why(world, first) == why(world, second) == []
    assert why(world, writer) == ["data-set-in-use"]
    assert world.store.run(writer.id).phase is Phase.QUEUED
    for one in (first, second):
        world.store.finish(one.id, Outcome.SUCCEEDED, "", NOW)
    assert why(world, writer) == []
    third = run(world, "ann", "digits")
    assert why(world, third) == ["data-set-in-use"]
    assert world.store.group("vision").used == ONE
    world.store.finish(writer.id, Outcome.FAILED, "", NOW)
    assert why(world, third) == []


def test_what_was_taken_back_while_a_run_waited_it_does_not_get(world, digits):
    world.store.share(digits, "user", "bob", NOW)
    waits = run(world, "bob", digits)
    world.store.unshare(digits, "user", "bob")
    assert why(world, waits) == ["data-set-revoked"]


def test_what_runs_name_is_not_deleted_and_nothing_is_left_after(world, digits):
    store = world.store
    waits = run(world, "ann", "digits")
    assert code(store.delete_data_set, digits, NOW) == (409, "data-set-in-use")
    store.stop(waits.id, NOW, by="ann")
    store.delete_data_set(digits, NOW)
    assert code(store.data_set, digits) == (404, "not-found")
    assert ("data-set-changed", digits) in world.kinds(Topic.STORAGE)
    assert store.wanted_folder(FolderKind.DATA_SET, digits).gone
    store.data_set_removed(digits, NOW)
    assert store.wanted_folder(FolderKind.DATA_SET, digits) is None


def test_files_change_only_while_no_run_has_the_data_set(world, digits):
    done = []
    world.store.unused(digits, lambda still: done.append(1))
    reads = run(world, "ann", "digits")
    world.store.unused(digits, lambda still: done.append(2))
    assert why(world, reads) == []
    assert code(world.store.unused, digits, lambda still: done.append(3)) == (409, "data-set-in-use")
    assert done == [1, 2]


def test_folders_are_wanted_for_whoever_was_let_in(world, digits):
    store = world.store
    store.add_user("new", "new@example.org", "hash", NOW)
    store.set_home_quota("bob", 5 * 2**30, NOW)
    wanted = {(one.kind.value, one.name): one for one in store.wanted_folders()}
    assert {name for kind, name in wanted if kind == "user"} == {"ann", "bob", "eve"}
    assert wanted["user", "bob"].quota == 5 * 2**30
    assert wanted["group", "vision"].gid == store.group("vision").gid
    assert wanted["data-set", digits].uid == store.user("ann").uid


def test_what_was_seen_of_a_folder_stays_where_nothing_new_is_known(world):
    store = world.store
    assert store.folder(FolderKind.USER, "ann").made is None
    store.folder_reported(Folder(FolderKind.USER, "ann", NOW, 10, 3, 1, NOW))
    store.folder_reported(Folder(FolderKind.USER, "ann", later(9), None, None, None, later(9), "away"))
    assert store.folder(FolderKind.USER, "ann") == Folder(
        FolderKind.USER, "ann", NOW, None, 3, 1, later(9), "away"
    )


def test_the_first_file_system_stays(world):
    assert world.store.known_file_system() is None
    assert world.store.file_system(7) == world.store.file_system(8) == 7


def test_a_snapshot_is_read_once_nodes_can_mount_it_and_until_then_runs_wait_and_say_why(world):
    store = world.store
    one = store.add_data_set("ann", "big", {"kind": "rbd", "image": "i", "snapshot": "v1"}, NOW).id
    assert code(run, world, "ann", "big", write=True) == (422, "data-set-read-only")
    waits = run(world, "ann", "big")
    assert why(world, waits) == ["data-set-not-there"]
    store.external_source_reported(ExternalSource(one, trouble="there is no image rbd/i"))
    (problem,) = store.admit(waits.id, NOW)
    assert problem.found == "there is no image rbd/i"
    store.external_source_reported(ExternalSource(one, "pvc-1"))
    assert why(world, waits) == []
    assert store.elsewhere(one) == ExternalSource(one, "pvc-1")
    assert code(store.delete_data_set, one, NOW) == (409, "data-set-in-use")


def test_what_was_made_for_a_snapshot_is_to_be_removed_and_what_others_keep_is_not(world):
    store = world.store
    made = store.add_data_set("ann", "big", {"kind": "rbd", "image": "i", "snapshot": "v1"}, NOW).id
    kept = store.add_data_set("ann", "old", {"kind": "nfs", "server": "nfs.test", "path": "/a"}, NOW).id
    for id in (made, kept):
        store.delete_data_set(id, NOW)
    assert [(one.id, one.deleted) for one in store.sources("rbd")] == [(made, NOW)]
    assert store.sources("nfs") == []
    store.data_set_removed(made, NOW)
    assert store.sources("rbd") == []


def test_a_data_set_named_like_an_id_is_found_and_an_id_goes_before_it(world, digits):
    def had(name):
        one = run(world, "ann", name)
        assert why(world, one) == []
        return [found.id for found, _ in world.store.data_of(one.id)]

    named = world.store.add_data_set("ann", "d2abcdefghijk", FOLDER, NOW).id
    assert had("d2abcdefghijk") == [named]
    world.store.add_data_set("ann", digits, FOLDER, NOW)
    assert had(digits) == [digits]


def test_an_owner_has_so_many_and_may_go_on_when_one_is_deleted(world, monkeypatch):
    monkeypatch.setattr(data_set_quotas, "MOST", 2)
    store = world.store
    first, _ = (store.add_data_set("ann", name, {"kind": "folder"}, NOW).id for name in ("a", "b"))
    assert code(store.add_data_set, "ann", "c", {"kind": "folder"}, NOW) == (409, "too-many-data-sets")
    assert store.add_data_set("ann", "a", {"kind": "folder"}, NOW).id == first, (
        "the same again changes nothing"
    )
    store.delete_data_set(first, NOW)
    store.add_data_set("ann", "c", {"kind": "folder"}, NOW)
    world.person("bob", "vision")
    store.add_data_set("bob", "c", {"kind": "folder"}, NOW)


GIB = 2**30


def test_limits_of_all_data_sets_of_an_owner_sum_up_to_a_bound(world):
    store = world.store

    def make(name, size, owner="ann", kind=FOLDER):
        return code(store.add_data_set, owner, name, kind, NOW, quota=size * GIB, most=10 * GIB)

    world.person("bob", "vision")
    first = store.add_data_set("ann", "a", FOLDER, NOW, quota=6 * GIB, most=10 * GIB)
    assert first.quota == store.wanted_folder(FolderKind.DATA_SET, first.id).quota == 6 * GIB, (
        "set in ceph too"
    )
    assert make("b", 5) == (409, "data-sets-quota")
    assert store.add_data_set("ann", "a", FOLDER, NOW, quota=9 * GIB, most=10 * GIB) == first, (
        "the same again"
    )
    store.add_data_set("ann", "b", FOLDER, NOW, quota=4 * GIB, most=10 * GIB)
    assert store.data_set_usage("ann") == 10 * GIB
    assert make("c", 1) == (409, "data-sets-quota")
    store.add_data_set("bob", "c", FOLDER, NOW, quota=10 * GIB, most=10 * GIB)
    # What lies elsewhere takes nothing here.
    other = store.add_data_set(
        "ann", "c", {"kind": "cache", "path": "s3/x"}, NOW, quota=9 * GIB, most=10 * GIB
    )
    assert other.quota is None
    store.delete_data_set(first.id, NOW)
    assert make("d", 1) == (409, "data-sets-quota"), "its files are still there"
    store.data_set_removed(first.id, NOW)
    store.add_data_set("ann", "d", FOLDER, NOW, quota=6 * GIB, most=10 * GIB)
    # One from before has no limit, keeps it, and hinders no other; an administrator's choice counts from then on.
    old = store.add_data_set("bob", "old", FOLDER, NOW)
    assert store.wanted_folder(FolderKind.DATA_SET, old.id).quota is None
    store.set_data_set_quota(old.id, 50 * GIB, NOW)
    assert store.data_set_usage("bob") == 60 * GIB
