"""Local volumes: made once, where the pod can run, and never more than the node keeps for them."""

import os
from contextlib import contextmanager

import pytest

from tests.unit.volumes.volume_fakes import NAME, Surroundings, load, provisioner

local = load("local")
MIB, AFFINITY = 1 << 20, provisioner.AFFINITY
PODS, NODE = "/api/v1/namespaces/team/pods", "/api/v1/nodes/w1"
MINE = "/api/v1/pods?fieldSelector=spec.nodeName=w1"


class LocalWorld(Surroundings):
    def __init__(self, folder, mib=100, tells=True):
        config = {"node": "w1", "local": str(folder), "capacity": mib * MIB, "tells": tells}
        self.ran, self.rc = [], 0
        super().__init__(lambda api: local.Local(config, api, self.run, self.alone))
        status = {"allocatable": {"cpu": "1"}}
        node = {"metadata": {"name": "w1", "labels": {}}, "spec": {}, "status": status}
        self.api.lists |= {PODS: [], MINE: [], NODE: node}
        self.kind.tidy()
        self.folder = folder

    def run(self, argv, seconds):
        self.ran.append(" ".join(argv))
        return self.rc, "", "it cannot"

    @contextmanager
    def alone(self, name):
        self.ran.append("lock " + name)
        yield
        self.ran.append("unlock")

    def grow(self, size):
        """Have the claim, which has its volume, ask for another size, and look once."""
        (claim,) = self.api.lists[provisioner.CLAIMS]
        claim["status"]["phase"], claim["spec"]["volumeName"] = "Bound", NAME
        claim["metadata"]["annotations"].update({"avadm.io/size": size, "avadm.io/local-node": "w1"})
        self.ran.clear()
        self.it.round()

    @property
    def mib(self):
        return (self.folder / f"{NAME}.img").stat().st_size // MIB

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
    monkeypatch.setattr(local, "make_filesystem", lambda path, run: None)
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
    def fails(path, run):
        raise local.VolumeError("blkid could not tell")

    monkeypatch.setattr(local, "make_filesystem", fails)
    here.claimed()
    assert (here.files(), here.api.volumes) == ([], [])
    assert "could not tell" in here.messages[0]


def test_a_file_that_is_there_is_never_formatted(here, monkeypatch):
    monkeypatch.setattr(local, "make_filesystem", lambda path, run: pytest.fail("formatted"))
    (here.folder / f"{NAME}.img").write_bytes(b"data")
    here.claimed()
    assert (here.folder / f"{NAME}.img").read_bytes() == b"data"


def test_what_was_cut_off_goes_at_the_next_start_and_nothing_else(tmp_path):
    folder = tmp_path / "local"
    folder.mkdir()
    for name in (f"making-{NAME}.img", f"{NAME}.img", "making-notes.img", "notes"):
        (folder / name).write_bytes(b"")
    assert LocalWorld(folder).files() == sorted([f"{NAME}.img", "making-notes.img", "notes"])


def test_a_disk_that_is_smaller_than_promised_is_reported_at_the_start(tmp_path):
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
    monkeypatch.setattr(local, "loops", lambda path: ["/dev/loop7"])
    released(here)
    assert (here.files(), len(here.api.volumes)) == ([f"{NAME}.img"], 1)
    assert "still mounted" in here.messages[0]


def test_a_file_under_a_loop_device_is_in_use(tmp_path):
    for name, backing in (("loop0", "/a.img\n"), ("sda", None)):
        (tmp_path / name / "loop").mkdir(parents=True)
        if backing:
            (tmp_path / name / "loop/backing_file").write_text(backing)
    assert local.loops("/a.img", str(tmp_path)) == ["/dev/loop0"]
    assert local.loops("/b.img", str(tmp_path)) == []


@pytest.mark.parametrize(
    "modes", [["ReadWriteMany"], ["ReadOnlyMany"], ["ReadWriteOnce", "ReadOnlyMany"], []]
)
def test_other_access_than_by_one_node_is_refused(here, modes):
    here.claimed(accessModes=modes)
    assert here.files() == []
    assert "ReadWriteOnce" in here.messages[0]


def test_a_claim_that_names_this_node_is_served_at_once_without_a_look_at_pods(here):
    here.full(50)
    here.ask(annotations={"avadm.io/local-node": "w1"})
    here.it.round()
    assert len(here.api.volumes) == 1
    assert here.api.changes == []


def test_a_volume_grows_while_it_is_mounted_and_once_for_each_size(here, monkeypatch):
    here.claimed()
    monkeypatch.setattr(local, "loops", lambda path: ["/dev/loop7"])
    here.grow("32Mi")
    assert here.mib == 32
    assert (here.folder / f"{NAME}.img").stat().st_blocks * 512 == 32 * MIB, "its space is taken"
    assert here.ran == [f"lock {NAME}", "losetup --set-capacity /dev/loop7", "resize2fs /dev/loop7", "unlock"]
    here.ran.clear()
    here.it.round()
    assert here.ran == []
    here.grow("40Mi")
    assert (here.mib, here.api.events) == (40, [])


def test_growth_that_was_cut_off_is_brought_to_its_end(here, monkeypatch):
    here.claimed()
    monkeypatch.setattr(local, "loops", lambda path: ["/dev/loop7"])
    os.truncate(here.folder / f"{NAME}.img", 32 * MIB)
    here.grow("32Mi")
    assert "resize2fs /dev/loop7" in here.ran
    here.kind.grown.clear()  # as after a start of the program
    here.ran.clear()
    here.it.round()
    assert "resize2fs /dev/loop7" in here.ran


def test_where_the_kernel_grows_nothing_that_is_mounted_the_next_mount_is_reported_of_once(here, monkeypatch):
    here.claimed()
    monkeypatch.setattr(local, "loops", lambda path: ["/dev/loop7"])
    here.rc = 1
    here.grow("32Mi")
    assert here.mib == 32
    assert "its file system follows with its next mount" in here.messages[0]
    here.ran.clear()
    here.it.round()
    assert (here.ran, len(here.messages)) == ([], 1)


def test_one_that_is_not_mounted_grows_as_a_file_alone(here):
    here.claimed()
    here.grow("32Mi")
    assert here.mib == 32
    assert here.ran == [f"lock {NAME}", "unlock"]


def test_a_volume_never_shrinks(here):
    here.claimed()
    here.grow("8Mi")
    assert here.mib == 16
    assert "does not shrink" in here.messages[0]


@pytest.mark.parametrize("size", ["", "x", "-5Gi", "1e99"])
def test_a_size_that_is_none_is_reported_and_holds_up_no_one(here, size):
    here.claimed()
    here.grow(size)
    assert here.mib == 16
    assert len(here.api.events) == 1


def test_a_volume_grows_into_what_is_left_alone(here):
    here.claimed()
    here.full(60)
    here.grow("41Mi")
    assert here.mib == 16
    assert "w1 has 24 MiB left of 100 MiB" in here.messages[0]


def test_a_full_disk_leaves_the_file_as_it_was(here, monkeypatch):
    here.claimed()

    def full(handle, begin, length):
        os.truncate(handle, begin + length // 2)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local.os, "posix_fallocate", full)
    here.grow("32Mi")
    assert here.mib == 16
    assert "No space left" in here.messages[0]


def test_a_volume_of_another_node_is_not_this_node_s_to_grow(here):
    here.claimed()
    here.api.volumes[0]["spec"]["flexVolume"]["options"]["node"] = "w2"
    here.grow("32Mi")
    assert (here.mib, here.api.events) == (16, [])
