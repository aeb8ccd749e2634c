from pathlib import Path

import pytest

from avadm.lab.docker.loops import Loop, Loops, number
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


def test_attaches_at_the_number_that_the_container_knows(proc, tmp_path):
    kernel = FakeLoops(proc)
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=5) == 5
    assert kernel.at == {5: str(tmp_path / "a.img")}


def test_is_a_solid_state_disk_for_ceph(proc, tmp_path):
    FakeLoops(proc)
    Loops(proc, tmp_path).attach(tmp_path / "a.img")
    assert proc.ran("echo 0 > /sys/block/loop0/queue/rotational")


def test_takes_another_number_where_a_stranger_has_ours(proc, tmp_path):
    kernel = FakeLoops(proc, {0: "/theirs"})
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=0) == 1
    assert kernel.at[0] == "/theirs"


def test_moves_back_to_the_wanted_number(proc, tmp_path):
    kernel = FakeLoops(proc, {3: str(tmp_path / "a.img")})
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=1) == 1
    assert kernel.at == {1: str(tmp_path / "a.img")}


def test_stays_where_it_is_if_the_wanted_number_is_taken(proc, tmp_path):
    kernel = FakeLoops(proc, {3: str(tmp_path / "a.img"), 1: "/theirs"})
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=1) == 3
    assert kernel.at == {3: str(tmp_path / "a.img"), 1: "/theirs"}


def test_attached_already(proc, tmp_path):
    FakeLoops(proc, {3: str(tmp_path / "a.img")})
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img") == 3
    assert not proc.ran("losetup /dev|--detach")


def test_a_deleted_file_of_the_same_name_is_not_the_file(proc, tmp_path):
    FakeLoops(proc, {3: f"{tmp_path}/a.img (deleted)"})
    assert Loops(proc, tmp_path).attach(tmp_path / "a.img") == 0


def test_makes_the_device_node_where_nothing_else_does(proc, tmp_path):
    FakeLoops(proc)
    Loops(proc, tmp_path).attach(tmp_path / "a.img", wanted=4711)
    assert proc.ran("mknod") == ["mknod -m 660 /dev/loop4711 b 7 4711"]


def test_drops_only_devices_of_its_own_folder(proc, tmp_path):
    disks = tmp_path / "disks"
    kernel = FakeLoops(
        proc, {0: "/theirs", 1: f"{disks}/a.img", 2: f"{disks}2/a.img", 3: f"{disks}/b.img (deleted)"}
    )
    assert Loops(proc, disks).drop() == 2
    assert sorted(kernel.at) == [0, 2]


def test_drops_stale_ones_only_when_asked_so(proc, tmp_path):
    kernel = FakeLoops(proc, {1: f"{tmp_path}/a.img", 3: f"{tmp_path}/b.img (deleted)"})
    assert Loops(proc, tmp_path).drop(stale_only=True) == 1
    assert sorted(kernel.at) == [1]


def test_disk_files_are_sparse_and_never_overwritten(proc, tmp_path):
    loops = Loops(proc, tmp_path / "disks")
    path = loops.create("x", 1 << 30)
    assert path.stat().st_size == 1 << 30
    assert path.stat().st_blocks < 16
    path.write_bytes(b"data")
    assert loops.create("x", 1 << 30).read_bytes() == b"data"


def test_path_of_a_loop():
    assert Loop(3, "/x", deleted=False).path == str(Path("/dev/loop3"))
