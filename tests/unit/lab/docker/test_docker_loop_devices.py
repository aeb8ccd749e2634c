import pytest

from avadm_lab.docker.loop_devices import Loops, number
from tests.unit.lab.fakes import FakeLoops, FakeProc


@pytest.fixture
def proc():
    return FakeProc()


def test_number_of_a_device():
    assert number("/dev/loop12") == 12
    assert number("/dev/sdb") is None
    assert number("/dev/loop-control") is None


def test_no_attached_device_at_all(proc, tmp_path):
    FakeLoops(proc)
    assert Loops(proc, tmp_path).all() == []


# What is attached before, the number that is wanted, what is attached afterwards.
ATTACHED = {
    "at the number that the container knows": ({}, 5, {5: "a.img"}),
    "at another where a stranger has ours": ({0: "theirs"}, 0, {0: "theirs", 1: "a.img"}),
    "moved back to the wanted number": ({3: "a.img"}, 1, {1: "a.img"}),
    "left if that is taken": ({3: "a.img", 1: "theirs"}, 1, {3: "a.img", 1: "theirs"}),
    "already": ({3: "a.img"}, None, {3: "a.img"}),
    "beside a deleted one": ({3: "a.img (deleted)"}, None, {3: "a.img (deleted)", 0: "a.img"}),
}


@pytest.mark.parametrize("case", ATTACHED)
def test_a_file_is_attached(proc, tmp_path, case):
    at = lambda numbers: {n: f"{tmp_path}/{name}" for n, name in numbers.items()}  # noqa: E731
    before, wanted, after = ATTACHED[case]
    kernel = FakeLoops(proc, at(before))
    got = Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=wanted)
    assert (kernel.at, after[got]) == (at(after), "a.img")
    assert bool(proc.ran("losetup /dev|--detach")) is (before != after)


def test_is_a_solid_state_disk_for_ceph(proc, tmp_path):
    FakeLoops(proc)
    Loops(proc, tmp_path).attach(tmp_path / "a.img")
    assert proc.ran("echo 0 > /sys/block/loop0/queue/rotational")


def test_makes_the_device_node_where_nothing_else_does(proc, tmp_path):
    FakeLoops(proc)
    Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=4711)
    assert proc.ran("mknod") == ["mknod -m 660 /dev/loop4711 b 7 4711"]


@pytest.mark.parametrize(("stale_only", "left"), [(False, [0, 2]), (True, [0, 1, 2])])
def test_drops_only_devices_of_its_own_folder_and_stale_ones_alone_when_asked_so(
    proc, tmp_path, stale_only, left
):
    disks = tmp_path / "disks"
    at = {0: "/theirs", 1: f"{disks}/a.img", 2: f"{disks}2/a.img", 3: f"{disks}/b.img (deleted)"}
    kernel = FakeLoops(proc, at)
    assert Loops(proc, disks).drop(stale_only=stale_only) == 4 - len(left)
    assert sorted(kernel.at) == left


def test_disk_files_are_sparse_and_never_overwritten(proc, tmp_path):
    loops = Loops(proc, tmp_path / "disks")
    path = loops.create("x", 1 << 30)
    assert path.stat().st_size == 1 << 30
    assert path.stat().st_blocks < 16
    path.write_bytes(b"data")
    assert loops.create("x", 1 << 30).read_bytes() == b"data"
