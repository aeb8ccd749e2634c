"""Volumes of snapshots of images that are not ours: read alone, kept while they are read, left as they were found."""

import pytest

from tests.unit.volumes.image_fakes import MIB
from tests.unit.volumes.test_block_images import RbdWorld
from tests.unit.volumes.volume_fakes import NAME

NOTE = "avadm.io/clone-of-snapshot"
READERS = ["ReadOnlyMany"]


@pytest.fixture
def world(monkeypatch):
    """A pool with an administrator's image of 2 GiB and its snapshot v1; claims of the namespace team may name it."""
    made = RbdWorld(monkeypatch, snapshots="team")
    made.pool.image("faces", 2048 * MIB)
    made.pool.images["faces"]["snaps"]["v1"] = False
    return made


def ask(world, snap="faces@v1", modes=READERS, **notes):
    world.ask({NOTE: snap, **notes}, size="1Mi", accessModes=modes)


def protected(world):
    return world.pool.images["faces"]["snaps"]["v1"]


def test_readers_get_all_of_it_and_ceph_keeps_it(world):
    ask(world)
    assert world.api.volumes[0]["spec"]["flexVolume"]["options"] == {
        "kind": "rbd",
        "image": NAME,
        "access": "ro",
    }
    assert world.pool.images[NAME]["parent"] == "rbd/faces@v1"
    assert world.pool.images[NAME]["size"] == 2048 * MIB, "whatever the claim says"
    assert protected(world)
    assert world.formatted == []
    assert [argv[:2] for argv in world.pool.ran if argv[0] == "e2fsck"] == [["e2fsck", "-p"]]
    (clone,) = [" ".join(argv) for argv in world.pool.ran if "clone" in argv]
    assert "--rbd-default-clone-format 1" in clone, "of another format ceph would let the snapshot go"


def test_it_is_left_as_it_was_found(world):
    ask(world)
    world.release()
    assert world.pool.images == {
        "faces": {"size": 2048 * MIB, "snaps": {"v1": False}, "parent": None, "meta": {}}
    }


def test_a_protection_of_another_user_s_stays(world):
    world.pool.images["faces"]["snaps"]["v1"] = True
    ask(world)
    world.release()
    assert protected(world)
    assert list(world.pool.images) == ["faces"]


def test_it_stays_protected_until_the_last_that_is_made_of_it_is_gone(world):
    ask(world)
    world.pool.image("pvc-other", parent="rbd/faces@v1")
    world.release()
    assert protected(world)
    assert world.pool.images["faces"]["meta"], "the last one finds out who protected it"


@pytest.mark.parametrize(
    ("snap", "message"),
    [
        ("facs@v1", "there is no image rbd/facs"),
        ("faces@v2", "has no snapshot v2"),
        ("faces", "names no snapshot"),
        ("faces@", "names no snapshot"),
        ("", "names no snapshot"),
        ("--pool=other@v1", "names no snapshot"),
        ("faces@--force", "names no snapshot"),
        ("other/faces@v1", "names no snapshot"),
        ("../faces@v1", "names no snapshot"),
        ("faces@v1@v2", "names no snapshot"),
        ("faces@pvc-1", "names no snapshot"),
        ("faces@v1 --yes", "names no snapshot"),
        ("faces@v1\n", "names no snapshot"),
    ],
)
def test_what_is_not_there_or_no_name_is_reported_and_nothing_is_made(world, snap, message):
    ask(world, snap)
    assert message in world.messages[0]
    assert (list(world.pool.images), protected(world), world.api.volumes) == (["faces"], False, [])


@pytest.mark.parametrize("modes", [["ReadWriteOnce"], ["ReadWriteMany"], ["ReadOnlyMany", "ReadWriteOnce"]])
def test_no_one_gets_it_to_write(world, modes):
    ask(world, modes=modes)
    assert world.messages
    assert list(world.pool.images) == ["faces"]


@pytest.mark.parametrize("trusted", [{"snapshots": "ava-system"}, {"snapshots": ""}, {}], ids=str)
def test_claims_of_other_namespaces_read_no_user_s_image(monkeypatch, trusted):
    world = RbdWorld(monkeypatch, **trusted)
    world.pool.image("faces")
    world.pool.images["faces"]["snaps"]["v1"] = False
    ask(world)
    assert "may not name snapshots" in world.messages[0]
    assert list(world.pool.images) == ["faces"]


def test_what_has_no_ext4_is_no_volume(world):
    world.pool.answers["e2fsck"] = (8, "", "Bad magic number in super-block")
    ask(world)
    assert "no sound file system (ext4)" in world.messages[0]
    assert world.api.volumes == []


def test_an_image_that_cannot_be_cloned_is_reported(world):
    world.pool.answers["snap protect"] = (22, "", "image must support layering")
    ask(world)
    assert "layering" in world.messages[0]
    assert world.api.volumes == []
