"""Data sets in the database: whose they are, who reads them, one writer or many readers, and what is not deleted."""

import pytest

from ava.db import data_sets
from ava.domain.data_sets import ExternalSource
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Kind, Outcome, Phase, Topic
from tests.unit.ava.db.world import NOW, ONE, SPEC, code, later

FOLDER = {"kind": "folder"}


@pytest.fixture
def digits(world):
    world.person("bob", "vision")
    world.person("eve")
    return world.db.data_sets.create("ann", "digits", FOLDER, NOW).id


def run(world, owner, *names, write=False):
    """Return a queued run that names data sets."""
    spec = SPEC | {"data_sets": [{"name": name, "write": write} for name in names]}
    db = world.db
    definition = db.definitions.save(owner, Kind.TRAINING, f"t{next(world._keys)}", spec, NOW).id
    key = f"data-{next(world._keys)}"
    return db.runs.create(
        definition, key, NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
    )


def why(world, one):
    return [p.code for p in world.db.runs.admit(one.id, NOW)]


def test_the_same_again_is_the_same_and_another_source_is_refused(world, digits):
    db = world.db
    assert db.data_sets.create("ann", "digits", FOLDER, later(5)).id == digits
    other = {"kind": "cache", "path": "s3/digits"}
    assert code(db.data_sets.create, "ann", "digits", other, NOW) == (409, "name-taken")
    assert db.data_sets.create("bob", "digits", FOLDER, NOW).id != digits


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
    assert code(world.db.data_sets.create, "ann", "x", source, NOW) == (422, "source-invalid")


def test_sharing_lets_read_and_taking_it_back_does_not(world, digits):
    db = world.db
    assert db.data_sets.may_read(digits, "ann") and not db.data_sets.may_read(digits, "bob")
    db.data_sets.share(digits, "group", "vision", NOW)
    db.data_sets.share(digits, "user", "eve", NOW)
    assert db.data_sets.may_read(digits, "bob") and db.data_sets.may_read(digits, "eve")
    assert [one.id for one in db.data_sets.list(reader="eve").items] == [digits]
    db.groups.remove_member("vision", "bob", NOW)
    db.data_sets.unshare(digits, "user", "eve")
    assert not db.data_sets.may_read(digits, "bob") and not db.data_sets.may_read(digits, "eve")
    assert code(db.data_sets.unshare, digits, "user", "eve") == (404, "not-found")


def test_a_run_gets_what_its_owner_may_have_and_writes_only_what_is_theirs(world, digits):
    db = world.db
    for name in ("digits", digits):
        assert code(run, world, "bob", name) == (422, "data-set-unknown")
    db.data_sets.share(digits, "user", "bob", NOW)
    assert code(run, world, "bob", digits, write=True) == (422, "data-set-read-only")
    assert code(run, world, "ann", digits, "digits") == (422, "data-set-twice")
    reads = run(world, "bob", digits)
    assert why(world, reads) == []
    assert [(one.id, write) for one, write in db.data_sets.of_run(reads.id)] == [(digits, False)]


def test_many_read_or_one_writes(world, digits):
    first, second, writer = (
        run(world, "ann", "digits"),
        run(world, "ann", "digits"),
        run(world, "ann", "digits", write=True),
    )
    assert why(world, first) == why(world, second) == []
    assert why(world, writer) == ["data-set-in-use"]
    assert world.db.runs.get(writer.id).phase is Phase.QUEUED
    for one in (first, second):
        world.db.runs.finish(one.id, Outcome.SUCCEEDED, "", NOW)
    assert why(world, writer) == []
    third = run(world, "ann", "digits")
    assert why(world, third) == ["data-set-in-use"]
    assert world.db.groups.get("vision").used == ONE
    world.db.runs.finish(writer.id, Outcome.FAILED, "", NOW)
    assert why(world, third) == []


def test_what_was_taken_back_while_a_run_waited_it_does_not_get(world, digits):
    world.db.data_sets.share(digits, "user", "bob", NOW)
    waits = run(world, "bob", digits)
    world.db.data_sets.unshare(digits, "user", "bob")
    assert why(world, waits) == ["data-set-revoked"]


def test_what_runs_name_is_not_deleted_and_nothing_is_left_after(world, digits):
    db = world.db
    waits = run(world, "ann", "digits")
    assert code(db.data_sets.delete, digits, NOW) == (409, "data-set-in-use")
    db.runs.stop(waits.id, NOW, by="ann")
    db.data_sets.delete(digits, NOW)
    assert code(db.data_sets.get, digits) == (404, "not-found")
    assert ("data-set-changed", digits) in world.kinds(Topic.STORAGE)
    assert db.folders.get_spec(FolderKind.DATA_SET, digits).gone
    db.data_sets.set_removed(digits, NOW)
    assert db.folders.get_spec(FolderKind.DATA_SET, digits) is None


def test_files_change_only_while_no_run_has_the_data_set(world, digits):
    done = []
    world.db.data_sets.while_unused(digits, lambda still: done.append(1))
    reads = run(world, "ann", "digits")
    world.db.data_sets.while_unused(digits, lambda still: done.append(2))
    assert why(world, reads) == []
    assert code(world.db.data_sets.while_unused, digits, lambda still: done.append(3)) == (
        409,
        "data-set-in-use",
    )
    assert done == [1, 2]


def test_folders_are_wanted_for_any_user_who_was_let_in(world, digits):
    db = world.db
    db.users.create("new", "new@example.org", "hash", NOW)
    db.folders.set_home_quota("bob", 5 * 2**30, NOW)
    wanted = {(one.kind.value, one.name): one for one in db.folders.list_specs()}
    assert {name for kind, name in wanted if kind == "user"} == {"ann", "bob", "eve"}
    assert wanted["user", "bob"].quota == 5 * 2**30
    assert wanted["group", "vision"].gid == db.groups.get("vision").gid
    assert wanted["data-set", digits].uid == db.users.get("ann").uid


def test_what_was_seen_of_a_folder_stays_where_nothing_new_is_known(world):
    db = world.db
    assert db.folders.get(FolderKind.USER, "ann").made is None
    db.folders.record(Folder(FolderKind.USER, "ann", NOW, 10, 3, 1, NOW))
    db.folders.record(Folder(FolderKind.USER, "ann", later(9), None, None, None, later(9), "away"))
    assert db.folders.get(FolderKind.USER, "ann") == Folder(
        FolderKind.USER, "ann", NOW, None, 3, 1, later(9), "away"
    )


def test_the_first_file_system_stays(world):
    assert world.db.folders.file_system() is None
    assert world.db.folders.set_file_system(7) == world.db.folders.set_file_system(8) == 7


def test_a_snapshot_is_read_once_nodes_can_mount_it_and_until_then_runs_wait_and_say_why(world):
    db = world.db
    one = db.data_sets.create("ann", "big", {"kind": "rbd", "image": "i", "snapshot": "v1"}, NOW).id
    assert code(run, world, "ann", "big", write=True) == (422, "data-set-read-only")
    waits = run(world, "ann", "big")
    assert why(world, waits) == ["data-set-not-there"]
    db.external_sources.record(ExternalSource(one, trouble="there is no image rbd/i"))
    (problem,) = db.runs.admit(waits.id, NOW)
    assert problem.found == "there is no image rbd/i"
    db.external_sources.record(ExternalSource(one, "pvc-1"))
    assert why(world, waits) == []
    assert db.external_sources.get(one) == ExternalSource(one, "pvc-1")
    assert code(db.data_sets.delete, one, NOW) == (409, "data-set-in-use")


def test_what_was_made_for_a_snapshot_is_to_be_removed_and_what_others_keep_is_not(world):
    db = world.db
    made = db.data_sets.create("ann", "big", {"kind": "rbd", "image": "i", "snapshot": "v1"}, NOW).id
    kept = db.data_sets.create("ann", "old", {"kind": "nfs", "server": "nfs.test", "path": "/a"}, NOW).id
    for id in (made, kept):
        db.data_sets.delete(id, NOW)
    assert [(one.id, one.deleted) for one in db.external_sources.list("rbd")] == [(made, NOW)]
    assert db.external_sources.list("nfs") == []
    db.data_sets.set_removed(made, NOW)
    assert db.external_sources.list("rbd") == []


def test_a_data_set_named_like_an_id_is_found_and_an_id_goes_before_it(world, digits):
    def had(name):
        one = run(world, "ann", name)
        assert why(world, one) == []
        return [found.id for found, _ in world.db.data_sets.of_run(one.id)]

    named = world.db.data_sets.create("ann", "d2abcdefghijk", FOLDER, NOW).id
    assert had("d2abcdefghijk") == [named]
    world.db.data_sets.create("ann", digits, FOLDER, NOW)
    assert had(digits) == [digits]


def test_an_owner_has_so_many_and_may_go_on_when_one_is_deleted(world, monkeypatch):
    monkeypatch.setattr(data_sets, "MOST", 2)
    db = world.db
    first, _ = (db.data_sets.create("ann", name, {"kind": "folder"}, NOW).id for name in ("a", "b"))
    assert code(db.data_sets.create, "ann", "c", {"kind": "folder"}, NOW) == (409, "too-many-data-sets")
    assert db.data_sets.create("ann", "a", {"kind": "folder"}, NOW).id == first, (
        "the same again changes nothing"
    )
    db.data_sets.delete(first, NOW)
    db.data_sets.create("ann", "c", {"kind": "folder"}, NOW)
    world.person("bob", "vision")
    db.data_sets.create("bob", "c", {"kind": "folder"}, NOW)


GIB = 2**30


def test_limits_of_all_data_sets_of_an_owner_sum_up_to_a_bound(world):
    db = world.db

    def make(name, size, owner="ann", kind=FOLDER):
        return code(db.data_sets.create, owner, name, kind, NOW, quota=size * GIB, most=10 * GIB)

    world.person("bob", "vision")
    first = db.data_sets.create("ann", "a", FOLDER, NOW, quota=6 * GIB, most=10 * GIB)
    assert first.quota == db.folders.get_spec(FolderKind.DATA_SET, first.id).quota == 6 * GIB, (
        "set in ceph too"
    )
    assert make("b", 5) == (409, "data-sets-quota")
    assert db.data_sets.create("ann", "a", FOLDER, NOW, quota=9 * GIB, most=10 * GIB) == first, (
        "the same again"
    )
    db.data_sets.create("ann", "b", FOLDER, NOW, quota=4 * GIB, most=10 * GIB)
    assert db.data_sets.promised("ann") == 10 * GIB
    assert make("c", 1) == (409, "data-sets-quota")
    db.data_sets.create("bob", "c", FOLDER, NOW, quota=10 * GIB, most=10 * GIB)
    # What lies elsewhere takes nothing here.
    other = db.data_sets.create(
        "ann", "c", {"kind": "cache", "path": "s3/x"}, NOW, quota=9 * GIB, most=10 * GIB
    )
    assert other.quota is None
    db.data_sets.delete(first.id, NOW)
    assert make("d", 1) == (409, "data-sets-quota"), "its files are still there"
    db.data_sets.set_removed(first.id, NOW)
    db.data_sets.create("ann", "d", FOLDER, NOW, quota=6 * GIB, most=10 * GIB)
    # One from before has no limit, keeps it, and hinders no other; an administrator's choice counts from then on.
    old = db.data_sets.create("bob", "old", FOLDER, NOW)
    assert db.folders.get_spec(FolderKind.DATA_SET, old.id).quota is None
    db.data_sets.set_quota(old.id, 50 * GIB, NOW)
    assert db.data_sets.promised("bob") == 60 * GIB
