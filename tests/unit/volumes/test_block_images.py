"""Volumes on block images: made whole or not at all, of one writer or many readers, cloned, removed with their claim."""

import pytest

from tests.unit.volumes.image_fakes import MIB, FakeImages, FakePool
from tests.unit.volumes.volume_fakes import NAME, Surroundings, load, provisioner

images = load("images")
SPACE = "/api/v1/namespaces/team/persistentvolumeclaims/"
FROM = {"avadm.io/clone-of": "origin"}


class RbdWorld(Surroundings):
    def __init__(self, monkeypatch, **config):
        self.pool, self.formatted = FakePool(), []
        monkeypatch.setattr(images, "make_filesystem", lambda path, run: self.formatted.append(path))
        super().__init__(lambda api: images.Rbd({"turn": 0, "rbd": config}, FakeImages(self.pool), api))

    def ask(self, annotations=None, size="256Mi", **spec):
        super().ask(annotations=annotations, size=size, **spec)
        self.it.round()

    def release(self, **options):
        super().release(options)
        self.it.round()

    def origin(self, kind="rbd", phase="Bound"):
        """Have a claim that can be cloned, with its volume and image."""
        self.pool.image("pvc-origin")
        bound = {"spec": {"volumeName": "pvc-origin"}, "status": {"phase": phase}}
        source = {"driver": "avadm/volume", "options": {"kind": kind, "image": "pvc-origin"}}
        volume = {"spec": {"flexVolume": source}}
        self.api.lists |= {SPACE + "origin": bound, "/api/v1/persistentvolumes/pvc-origin": volume}


@pytest.fixture
def world(monkeypatch):
    return RbdWorld(monkeypatch)


def test_a_claim_gets_an_image_of_format_2_that_is_whole_when_it_has_its_name(world):
    world.ask()
    assert list(world.pool.images) == [NAME]
    assert world.formatted == [f"/mapped/making-{NAME}"]
    (create,) = [argv for argv in world.pool.ran if "create" in argv]
    assert "--image-format 2" in " ".join(create)
    features = [create[i + 1] for i, w in enumerate(create) if w == "--image-feature"]
    assert features == ["layering", "exclusive-lock"]
    (volume,) = world.api.volumes
    assert volume["spec"]["flexVolume"]["options"] == {"kind": "rbd", "image": NAME, "access": "rw"}
    assert '"avadm.io/rbd"' in volume["metadata"]["annotations"][provisioner.AFFINITY]
    assert (world.pool.open_by[f"making-{NAME}"], world.pool.locks) == ([], set())


def test_an_image_of_the_name_is_never_formatted_again(world):
    world.pool.image(NAME)
    world.ask()
    assert world.formatted == []
    assert len(world.api.volumes) == 1


def test_what_was_cut_off_is_made_again_once_no_one_has_it_open(world):
    world.pool.image(f"making-{NAME}", size=1)
    world.pool.open_by[f"making-{NAME}"] = ["10.0.0.9:0/1"]
    world.ask()
    assert (list(world.pool.images), world.api.events) == ([f"making-{NAME}"], [])
    world.pool.open_by.clear()
    world.it.round()
    assert world.pool.images[NAME]["size"] == 256 * MIB


def test_while_one_node_makes_it_another_waits_silently(world):
    world.pool.locks.add(("avadm-volumes", NAME))
    world.ask()
    assert (world.pool.images, world.api.events) == ({}, [])


def test_a_failed_proof_leaves_no_volume_and_says_why(world, monkeypatch):
    def doubt(path, run):
        raise images.VolumeError("not proven blank: blkid could not tell")

    monkeypatch.setattr(images, "make_filesystem", doubt)
    world.ask()
    assert world.api.volumes == []
    assert NAME not in world.pool.images
    assert "blkid could not tell" in world.messages[0]


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        (["ReadWriteMany"], "one writer or many readers"),
        (["ReadWriteOnce", "ReadOnlyMany"], "one writer or many readers"),
        ([], "one writer or many readers"),
        (["ReadOnlyMany"], "avadm.io/clone-of"),
    ],
)
def test_access_that_an_image_cannot_give_is_reported(world, modes, message):
    world.ask(accessModes=modes)
    assert message in world.messages[0]
    assert world.pool.images == {}


def test_a_clone_for_readers_starts_as_its_origin_is_and_is_never_written(world):
    world.origin()
    world.ask(FROM, accessModes=["ReadOnlyMany"])
    assert world.pool.images[NAME]["parent"] == f"rbd/pvc-origin@{NAME}"
    assert world.formatted == []
    assert [argv[:3] for argv in world.pool.ran if argv[0] == "e2fsck"] == [["e2fsck", "-p", "-f"]]
    assert world.api.volumes[0]["spec"]["flexVolume"]["options"]["access"] == "ro"


def test_a_larger_clone_grows_with_its_file_system(world):
    world.origin()
    world.ask(FROM, size="1Gi")
    assert world.pool.images[NAME]["size"] == 1 << 30
    assert any(argv[0] == "resize2fs" for argv in world.pool.ran)


@pytest.mark.parametrize(
    ("origin", "size", "message"),
    [({}, "100Mi", "at least as large"), ({"kind": "local"}, "256Mi", "cannot be cloned")],
    ids=["smaller", "of another class"],
)
def test_a_clone_is_refused(world, origin, size, message):
    world.origin(**origin)
    world.ask(FROM, size=size)
    assert message in world.messages[0]


def test_a_clone_without_a_sound_file_system_is_no_volume(world):
    world.origin()
    world.pool.answers["e2fsck"] = (8, "", "Bad magic number in super-block")
    world.ask(FROM)
    assert "Bad magic number" in world.messages[0]
    assert world.api.volumes == []


def test_a_clone_waits_for_its_origin(world):
    world.origin(phase="Pending")
    world.ask(FROM)
    assert (world.api.volumes, world.api.events) == ([], [])


def test_an_image_goes_with_its_claim(world):
    world.pool.image("other")
    world.ask()
    world.release()
    assert (list(world.pool.images), world.api.volumes) == (["other"], [])


def test_a_clone_takes_its_snapshot_along(world):
    world.origin()
    world.ask(FROM)
    world.release()
    assert list(world.pool.images) == ["pvc-origin"]
    assert world.pool.images["pvc-origin"]["snaps"] == {}


def test_what_has_a_clone_stays_until_that_is_gone(world):
    world.ask()
    world.pool.images[NAME]["snaps"]["pvc-clone"] = True
    world.pool.image("pvc-clone", parent=f"rbd/{NAME}@pvc-clone")
    world.release()
    assert "has a clone" in world.messages[0]
    del world.pool.images["pvc-clone"]
    world.it.round()
    assert world.pool.images == {}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda pool: pool.open_by.update({NAME: ["10.0.0.9:0/1"]}), "still open at 10.0.0.9:0/1"),
        (lambda pool: pool.images[NAME]["snaps"].update(monday=False), "made by somebody else"),
    ],
)
def test_an_image_in_use_or_with_foreign_snapshots_stays(world, spoil, message):
    world.ask()
    spoil(world.pool)
    world.release()
    assert message in world.messages[0]
    assert NAME in world.pool.images


@pytest.mark.parametrize("options", [{"image": "other"}, {"kind": "local"}], ids=str)
def test_a_volume_that_is_not_as_it_was_made_is_refused(world, options):
    world.pool.image("other")
    world.ask()
    world.release(**options)
    assert set(world.pool.images) == {"other", NAME}
    assert "nothing is removed" in world.messages[0]
