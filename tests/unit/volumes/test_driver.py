"""Mounting for pods: one writer, ext4 or nothing, and no way to format."""

import json
from contextlib import contextmanager

import pytest

from tests.unit.volumes.image_fakes import FakeImages, FakePool
from tests.unit.volumes.volume_fakes import NAME, load

driver = load("driver")
FOLDER = f"/pods/1/volumes/avadm~volume/{NAME}"
EXT4 = (0, "DEVNAME=/x\nTYPE=ext4\n", "")


class Node:
    """A node whose mounts are a dictionary."""

    def __init__(self, monkeypatch, tmp_path, pool=None, name="w1"):
        self.pool, self.mounts, self.probe = pool or FakePool(), {}, EXT4
        self.images = FakeImages(self.pool, name)
        config = {"node": name, "pool": "rbd", "entity": "client.rbd", "mapper": "rbd-fuse"}
        self.it = driver.Driver({**config, "local": str(tmp_path)}, self.run)
        self.it.alone = self.alone
        monkeypatch.setattr(driver, "Images", lambda config, run: self.images)
        monkeypatch.setattr(driver, "is_mounted", lambda path: path in self.mounts)
        monkeypatch.setattr(driver, "mounts", lambda: list(self.mounts.items()))
        monkeypatch.setattr(driver.os, "makedirs", lambda *a, **k: None)
        self.images.folder = lambda image: str(tmp_path)  # there, as after a mount

    @contextmanager
    def alone(self, name):
        yield

    def run(self, argv, seconds=60):
        self.pool.ran.append(argv)
        if argv[0] == "blkid":
            return self.probe
        if argv[0] == "mount" and "remount" not in argv[2]:
            self.mounts[argv[-1]] = "7:1"
        if argv[0] == "umount":
            del self.mounts[argv[-1]]
        return 0, "", ""

    def mount(self, folder=FOLDER, **options):
        given = {"kind": "rbd", "image": NAME, "access": "rw", "kubernetes.io/readwrite": "rw", **options}
        return self.it.mount(folder, json.dumps(given))

    def ran(self, program):
        return [" ".join(argv) for argv in self.pool.ran if argv[0] == program]


@pytest.fixture
def node(monkeypatch, tmp_path):
    made = Node(monkeypatch, tmp_path)
    made.pool.image(NAME)
    return made


def test_pods_of_a_node_share_one_mount_and_the_last_one_ends_it(node):
    other = FOLDER.replace("/1/", "/2/")
    node.mount()
    node.mount(other)
    assert node.images.mapped == [(NAME, False)]
    assert node.pool.open_by[NAME] == ["w1"]
    node.it.unmount(FOLDER)
    assert node.pool.open_by[NAME] == ["w1"]
    node.it.unmount(other)
    assert (node.pool.open_by[NAME], node.mounts) == ([], {})
    assert node.it.unmount(other) == {}, "kubelet may ask twice"


def test_a_second_writer_is_refused(node, monkeypatch, tmp_path):
    node.mount()
    second = Node(monkeypatch, tmp_path, node.pool, "w2")
    with pytest.raises(driver.VolumeError, match="one writer at a time, and is open at w1"):
        second.mount()
    assert (second.mounts, node.pool.open_by[NAME]) == ({}, ["w1"])


def test_two_that_open_at_the_same_moment_are_distinguished_by_the_lease(node):
    node.pool.locks.add((f"rbd_id.{NAME}", "avadm-open"))
    with pytest.raises(driver.VolumeError, match="being opened by another node"):
        node.mount()
    assert node.images.mapped == []


def test_who_sees_another_client_after_opening_lets_go(node, monkeypatch):
    honest = node.images.map

    def raced(image, read_only=False):
        node.pool.open_by[image] = ["10.0.0.9:0/1"]  # one that takes no lease
        return honest(image, read_only)

    monkeypatch.setattr(node.images, "map", raced)
    with pytest.raises(driver.VolumeError, match="opened by others meanwhile"):
        node.mount()
    assert (node.mounts, node.pool.open_by[NAME]) == ({}, ["10.0.0.9:0/1"])


def test_readers_are_many_and_write_nothing(node, monkeypatch, tmp_path):
    node.mount(access="ro")
    Node(monkeypatch, tmp_path, node.pool, "w2").mount(access="ro")
    assert node.pool.open_by[NAME] == ["w1", "w2"]
    assert all("ro,noload,nosuid,nodev" in line for line in node.ran("mount") if "ext4" in line)
    assert len([line for line in node.ran("mount") if "remount,bind,ro" in line]) == 2


def test_a_pod_that_asks_for_reading_alone_gets_no_more(node):
    node.mount(**{"kubernetes.io/readwrite": "ro"})
    assert [line for line in node.ran("mount") if "remount,bind,ro" in line]


PROBES = {
    "nothing found": (2, "", ""),
    "it fails": (4, "", "unexpected version of librbd"),
    "it does not end": (124, "", "blkid did not end within 60 s"),
    "xfs": (0, "TYPE=xfs\n", ""),
    "a partition table": (0, "PTTYPE=gpt\n", ""),
    "contradictions": (8, "TYPE=ext4\n", ""),
    "silence": (0, "", ""),
}


@pytest.mark.parametrize("found", PROBES)
def test_whatever_is_not_proven_ext4_is_not_mounted_and_let_go(node, found):
    node.probe = PROBES[found]
    with pytest.raises(driver.VolumeError, match="is not mounted, and nothing was written: wanted ext4"):
        node.mount()
    assert (node.mounts, node.pool.open_by[NAME]) == ({}, [])
    assert {argv[0] for argv in node.pool.ran} <= {"rbd", "blkid"}


@pytest.mark.parametrize(
    "options",
    [
        *({"image": n} for n in ("../../etc", NAME + "/..", "")),
        {"access": "rwx"},
        {"access": None},
        {"kind": "nbd"},
    ],
    ids=str,
)
def test_what_is_not_of_our_making_is_refused(node, options):
    with pytest.raises(driver.VolumeError):
        node.mount(**options)
    assert node.ran("mount") == []


def test_a_local_volume_that_is_not_here_is_refused(node):
    with pytest.raises(driver.VolumeError, match="is not on w1"):
        node.mount(kind="local")


def test_a_local_volume_is_mounted_from_its_file(node, tmp_path):
    path = tmp_path / f"{NAME}.img"
    path.write_bytes(b"")
    node.mount(kind="local")
    assert node.ran("mount")[0] == f"mount -t ext4 -o rw,noinit_itable,loop {path} /run/avadm/volumes/{NAME}"
    assert node.images.mapped == []


def grown(node, tmp_path, monkeypatch, **answers):
    """Mount a local volume; ``answers``: by program, statuses in turn. Return the programs that ran."""
    (tmp_path / f"{NAME}.img").write_bytes(b"")
    monkeypatch.setattr(driver, "loops", lambda path: ["/dev/loop7"])
    plain = node.it.run

    def run(argv, seconds=60):
        text = plain(argv)
        statuses = answers.get(argv[0])
        return (statuses.pop(0), "", "") if statuses else text

    node.it.run = run
    node.mount(kind="local")
    assert node.mounts[FOLDER]
    return [" ".join(argv[:1] + argv[-1:]) for argv in node.pool.ran if argv[0] != "blkid"]


def test_a_local_volume_fills_its_file_once_it_is_mounted(node, tmp_path, monkeypatch):
    """It may have grown while no pod used it."""
    ran = grown(node, tmp_path, monkeypatch)
    assert ran == [f"mount /run/avadm/volumes/{NAME}", "resize2fs /dev/loop7", f"mount {FOLDER}"]


@pytest.mark.parametrize("fsck", [0, 1, 4])
def test_where_the_kernel_does_not_let_it_grow_mounted_it_grows_before(node, tmp_path, monkeypatch, fsck):
    ran = grown(node, tmp_path, monkeypatch, resize2fs=[1, 0], e2fsck=[fsck])
    file, point = tmp_path / f"{NAME}.img", f"/run/avadm/volumes/{NAME}"
    resized = [f"resize2fs {file}"] if fsck < 2 else []
    assert ran[1:] == [
        "resize2fs /dev/loop7",
        f"umount {point}",
        f"e2fsck {file}",
        *resized,
        f"mount {point}",
        f"mount {FOLDER}",
    ]
