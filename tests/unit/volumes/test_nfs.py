"""Folders of NFS servers: of allowed ones, read alone, shared by a node's pods, and a dead server holds nothing up."""

import json
from contextlib import contextmanager

import pytest

from ava.domain.data_sets import nfs_volume
from tests.unit.volumes.volume_fakes import load

driver, nfs = load("driver"), load("nfs")
NAME = nfs.volume("nfs.test", "/export/faces")
POINT = f"/run/avadm/volumes/{NAME}"
PODS = [f"/pods/{n}/volumes/avadm~volume/{NAME}" for n in (1, 2)]


class Node:
    """A node with a table of mounts (a list: later ones lie over earlier), and a server that answers or does not."""

    def __init__(self, monkeypatch):
        self.table, self.ran, self.dead, self.log = [], [], set(), []
        monkeypatch.setattr(nfs, "is_mounted", lambda path: any(p == path for p, _ in self.table))
        monkeypatch.setattr(nfs, "mounts", lambda: [(p, "0:50") for p, _ in self.table])
        monkeypatch.setattr(nfs.os, "makedirs", lambda *a, **k: None)
        monkeypatch.setattr(nfs.os.path, "isdir", lambda path: False)
        self.it = driver.Driver({"node": "w1", "nfs": ["nfs.test"]}, self.run)
        self.it.alone = self.alone
        self.watch = nfs.Watch(self.it.nfs(), self.log.append)

    @contextmanager
    def alone(self, name):
        yield

    def shown(self, path):
        """Return what is seen at a path."""
        return [what for p, what in self.table if p == path][-1]

    def run(self, argv, seconds=60):
        self.ran.append(argv)
        argv = argv[4:] if argv[0] == "timeout" else argv
        if argv[0] == "stat":
            return (124, "", "") if self.shown(argv[-1]) in self.dead else (0, "", "")
        if argv[0] == "umount":
            assert {"-i", "-c", "-l"} <= set(argv), "asks no server and waits for none"
            last = max(i for i, (p, _) in enumerate(self.table) if p == argv[-1])
            del self.table[last]
            return 0, "", ""
        source, at = argv[-2:]
        if "--bind" in argv:
            assert "-c" in argv
            source = self.shown(source) if any(p == source for p, _ in self.table) else source
        elif source in self.dead:
            return 137, "", ""
        self.table.append((at, source))
        return 0, "", ""

    def mount(self, folder=PODS[0], **options):
        given = {"kind": "nfs", "server": "nfs.test", "path": "/export/faces", "access": "ro", **options}
        return self.it.mount(folder, json.dumps(given))


@pytest.fixture
def node(monkeypatch):
    return Node(monkeypatch)


def test_a_folder_has_one_name_in_the_platform_and_on_nodes():
    assert nfs_volume("nfs.test", "/export/faces") == NAME


def test_pods_share_one_soft_read_only_mount_and_the_last_ends_it(node):
    for folder in (*PODS, PODS[0]):
        node.mount(folder)
    mounted = [argv for argv in node.ran if "nfs" in argv]
    assert len(mounted) == 1
    options = set(mounted[0][mounted[0].index("-o") + 1].split(","))
    assert {"ro", "soft", "nosuid", "nodev", "retry=0"} <= options
    assert mounted[0][-3:] == ["--", "nfs.test:/export/faces", POINT]
    assert {node.shown(p) for p in PODS} == {"nfs.test:/export/faces"}
    node.it.unmount(PODS[0])
    assert [p for p, _ in node.table] == [POINT, PODS[1]]
    node.it.unmount(PODS[1])
    assert node.table == []
    assert node.it.unmount(PODS[1]) == {}, "kubelet may ask twice"


@pytest.mark.parametrize(
    "options",
    [
        {"access": "rw"},
        {"access": None},
        {"server": "other.test"},
        {"server": "127.0.0.1"},
        {"server": "-o"},
        {"server": "nfs.test:/x"},
        {"server": "nfs.test\n"},
        {"server": ""},
        {"path": "/export/../etc"},
        {"path": "/export/faces,rw"},
        {"path": "/export/faces -o rw"},
        {"path": "export"},
        {"path": "/"},
        {"path": "/export/faces/"},
        {"path": "/other"},
        {"server": ["nfs.test"]},
    ],
    ids=str,
)
def test_writing_other_servers_options_and_paths_that_lead_elsewhere_are_refused(node, options):
    with pytest.raises(driver.VolumeError):
        node.mount(**options)
    assert (node.ran, node.table) == ([], [])


def test_a_site_without_servers_mounts_none(node):
    node.it.config = {"node": "w1"}
    with pytest.raises(driver.VolumeError, match="nfs_servers"):
        node.mount()


def test_a_dead_server_is_an_error_and_every_command_ends(node):
    node.dead.add("nfs.test:/export/faces")
    with pytest.raises(driver.VolumeError):
        node.mount()
    assert node.table == []
    assert all(argv[:3] == ["timeout", "-s", "KILL"] for argv in node.ran)


def test_what_was_mounted_and_does_not_answer_any_more_is_shown_to_no_further_pod(node):
    node.mount()
    node.dead.add("nfs.test:/export/faces")
    with pytest.raises(driver.VolumeError, match="does not answer"):
        node.mount(PODS[1])
    assert [p for p, _ in node.table] == [POINT, PODS[0]]


def test_a_pod_goes_although_its_server_is_dead(node):
    node.mount()
    node.dead.add("nfs.test:/export/faces")
    node.it.unmount(PODS[0])
    assert node.table == []


def test_what_does_not_answer_is_taken_out_of_kubelets_sight_and_never_looks_like_an_empty_folder(node):
    for folder in PODS:
        node.mount(folder)
    node.dead.add("nfs.test:/export/faces")
    for _ in range(nfs.MISSES - 1):
        node.watch.look()
    assert node.shown(PODS[0]) == "nfs.test:/export/faces", "not for one answer that is late"
    node.watch.look()
    assert [node.shown(p) for p in PODS] == [nfs.AWAY, nfs.AWAY]
    assert not nfs.is_mounted(POINT)
    assert len(node.log) == 1
    for folder in PODS:
        node.it.unmount(folder)
    assert node.table == []
    node.dead.clear()
    node.mount()
    assert node.shown(PODS[0]) == "nfs.test:/export/faces", "and it is mounted again when it is back"


def test_a_server_that_answers_again_begins_again(node):
    node.mount()
    for dead in (True, True, False, True, True):
        (node.dead.add if dead else node.dead.discard)("nfs.test:/export/faces")
        node.watch.look()
    assert node.shown(PODS[0]) == "nfs.test:/export/faces"


def test_the_watch_touches_nothing_else(node):
    block = "/run/avadm/volumes/pvc-0f8fad5b-d9cb-469f-a165-70867728950e"
    node.table = [(block, "x"), ("/mnt/cephfs", "y")]
    node.dead |= {"x", "y"}
    for _ in range(nfs.MISSES + 1):
        node.watch.look()
    assert node.table == [(block, "x"), ("/mnt/cephfs", "y")]
