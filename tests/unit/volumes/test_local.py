"""Local volumes: made once, where the pod can run, and never more than the node keeps for them."""

import os

import pytest

from tests.unit.volumes.volume_fakes import NAME, Surroundings, load, provisioner

local = load("local")
MIB, AFFINITY = 1 << 20, provisioner.AFFINITY
PODS, NODE = "/api/v1/namespaces/team/pods", "/api/v1/nodes/w1"
MINE = "/api/v1/pods?fieldSelector=spec.nodeName=w1"


class LocalWorld(Surroundings):
    def __init__(self, folder, mib=100, tells=True):
        config = {"node": "w1", "local": str(folder), "capacity": mib * MIB, "tells": tells}
        super().__init__(lambda api: local.Local(config, api))
        status = {"allocatable": {"cpu": "1"}}
        node = {"metadata": {"name": "w1", "labels": {}}, "spec": {}, "status": status}
        self.api.lists |= {PODS: [], MINE: [], NODE: node}
        self.kind.tidy()
        self.folder = folder

    def ask(self, size="16Mi", **asked):
        super().ask(size=size, **asked)

    def claimed(self, size="16Mi", **spec):
        """Make a claim, with a pod that waits for it, and look once."""
        self.ask(size, **spec)
        self.pod()
        self.it.round()

    def pod(self, **spec):
        """Have a pod wait for the claim."""
        spec = {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}], **spec}
        self.api.lists[PODS] = [{"metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Pending"}}]

    def late(self):
        """Look again when even a full disk is asked."""
        self.it.round()
        self.now += local.SPREAD_S
        self.it.round()

    def full(self, mib):
        """Have another volume that takes so much."""
        (self.folder / "pvc-other.img").touch()
        os.truncate(self.folder / "pvc-other.img", mib * MIB)

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(local, "make_filesystem", lambda path: None)
    return LocalWorld(tmp_path / "local")


def test_a_claim_waits_for_its_first_pod_and_is_made_where_that_can_run(here):
    here.ask()
    assert here.it.round() == here.kind.retry_s
    assert (here.files(), here.api.events) == ([], [])
    here.pod()
    here.it.round()
    assert here.files() == [f"{NAME}.img"]
    taken = (here.folder / f"{NAME}.img").stat()
    assert (taken.st_size, taken.st_blocks * 512) == (16 * MIB, 16 * MIB), "its space is taken, not promised"
    (volume,) = here.api.volumes
    options = {"kind": "local", "image": NAME, "node": "w1", "access": "rw"}
    assert volume["spec"]["flexVolume"]["options"] == options
    assert '"values": ["w1"]' in volume["metadata"]["annotations"][AFFINITY]
    ((path, change),) = here.api.changes
    assert path.endswith("/team/persistentvolumeclaims/data")
    assert change["metadata"]["annotations"] == {"avadm.io/local-node": "w1"}
    assert change["metadata"]["resourceVersion"] == "7", "who comes second is refused by the API"


def test_a_node_where_the_pod_cannot_run_makes_nothing(here):
    here.ask()
    here.pod(nodeSelector={"pool": "gpu"})
    here.it.round()
    assert (here.files(), here.api.changes, here.api.events) == ([], [], [])


def test_a_claim_that_another_node_took_is_left_alone(here):
    here.claimed(annotations={"avadm.io/local-node": "w2"})
    assert (here.files(), here.api.volumes) == ([], [])


def test_who_is_second_to_take_a_claim_makes_nothing(here):
    path = "/api/v1/namespaces/team/persistentvolumeclaims/data"
    here.api.refuse["PATCH", path] = local.ApiError(409, "the object has been modified")
    here.claimed()
    assert (here.files(), here.api.volumes, here.api.events) == ([], [], [])


def test_the_capacity_of_the_site_file_is_never_exceeded(here):
    here.full(90)
    here.ask("11Mi")
    here.pod()
    here.late()
    assert here.files() == ["pvc-other.img"]
    assert "w1 has 10 MiB left of 100 MiB" in here.messages[0]
    here.ask("10Mi")
    here.it.round()
    assert f"{NAME}.img" in here.files()


def test_only_some_nodes_tell(tmp_path):
    quiet = LocalWorld(tmp_path / "local", mib=1, tells=False)
    quiet.claimed()
    assert quiet.api.events == []
    assert any("MiB left" in line for line in quiet.log)


def test_a_fuller_node_leaves_the_claim_to_an_emptier_one_for_a_while(here):
    here.full(50)
    here.claimed()
    assert here.api.volumes == []
    here.now += local.SPREAD_S / 2
    here.it.round()
    assert len(here.api.volumes) == 1


def test_a_file_whose_formatting_failed_is_no_volume_and_leaves_nothing(here, monkeypatch):
    def fails(path):
        raise local.VolumeError("blkid could not tell")

    monkeypatch.setattr(local, "make_filesystem", fails)
    here.claimed()
    assert (here.files(), here.api.volumes) == ([], [])
    assert "could not tell" in here.messages[0]


def test_a_file_that_is_there_is_never_formatted(here, monkeypatch):
    monkeypatch.setattr(local, "make_filesystem", lambda path: pytest.fail("formatted"))
    (here.folder / f"{NAME}.img").write_bytes(b"data")
    here.claimed()
    assert (here.folder / f"{NAME}.img").read_bytes() == b"data"


def test_what_was_cut_off_goes_at_the_next_start_and_nothing_else(tmp_path):
    folder = tmp_path / "local"
    folder.mkdir()
    for name in (f"making-{NAME}.img", f"{NAME}.img", "making-notes.img", "notes"):
        (folder / name).write_bytes(b"")
    assert LocalWorld(folder).files() == sorted([f"{NAME}.img", "making-notes.img", "notes"])


def test_a_disk_that_is_smaller_than_promised_is_told_at_the_start(tmp_path):
    with pytest.raises(local.VolumeError, match="smaller than"):
        LocalWorld(tmp_path / "local", mib=1 << 40)


def released(here, **changes):
    here.claimed()
    here.release(changes)
    here.late()


def test_a_volume_goes_with_its_claim(here):
    released(here)
    assert (here.files(), here.api.volumes) == ([], [])


@pytest.mark.parametrize("changes", [{"image": "pvc-x"}, {"kind": "rbd"}, {"node": "w2"}], ids=str)
def test_a_volume_of_another_place_or_name_is_not_removed(here, changes):
    released(here, **changes)
    assert (here.files(), len(here.api.volumes)) == ([f"{NAME}.img"], 1)


def test_a_volume_that_is_still_mounted_stays(here, monkeypatch):
    monkeypatch.setattr(local, "in_use", lambda path: True)
    released(here)
    assert (here.files(), len(here.api.volumes)) == ([f"{NAME}.img"], 1)
    assert "still mounted" in here.messages[0]


def test_a_file_under_a_loop_device_is_in_use(tmp_path):
    for name, backing in (("loop0", "/a.img\n"), ("sda", None)):
        (tmp_path / name / "loop").mkdir(parents=True)
        if backing:
            (tmp_path / name / "loop/backing_file").write_text(backing)
    assert local.in_use("/a.img", str(tmp_path))
    assert not local.in_use("/b.img", str(tmp_path))


@pytest.mark.parametrize(
    "modes", [["ReadWriteMany"], ["ReadOnlyMany"], ["ReadWriteOnce", "ReadOnlyMany"], []]
)
def test_other_access_than_by_one_node_is_refused(here, modes):
    here.claimed(accessModes=modes)
    assert here.files() == []
    assert "ReadWriteOnce" in here.messages[0]
