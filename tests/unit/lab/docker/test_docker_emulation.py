"""What a node gets so that docker and kubelet run in it."""

import io
import json
import sys
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

from avadm.errors import AvadmError
from avadm_lab.docker import emulation, nodefiles
from avadm_lab.docker.client import Docker
from avadm_lab.folder import Folder
from avadm_lab.layout import Config, nodes
from tests.unit.fakes.roles import program
from tests.unit.fakes.running import sh, stub
from tests.unit.lab.fakes import FakeProc

CONFIG = Config(name="x", masters=1)
NODES = {n.name: n for n in nodes(CONFIG)}
RUNC_LAB = Path(emulation.__file__).parent / "files/runc-lab"
shim = program(RUNC_LAB)


def test_only_nodes_of_kubernetes_have_volumes_and_the_kernels_log():
    assert emulation.flags(CONFIG, NODES["stor1"], "avadm.lab=x") == []
    flags = emulation.flags(CONFIG, NODES["mast1"], "avadm.lab=x")
    assert flags[-2:] == ["--device", "/dev/kmsg"]
    mounts = [dict(part.split("=", 1) for part in a.split(",")) for a in flags if a.startswith("type=")]
    assert {m["target"]: m["source"] for m in mounts} == {
        "/var/lib/etcd": "avadm-x-mast1-etcd",
        "/var/lib/docker": "avadm-x-mast1-docker",
        "/var/lib/kubelet": "avadm-x-mast1-kubelet",
    }
    assert {m["volume-label"] for m in mounts} == {"avadm.lab=x"}


def test_a_machine_for_any_role_is_made_for_pods_and_etcd_and_keeps_its_role_in_the_labs_own_file():
    config = Config(name="x", masters=1, any_role=True)
    machines = {n.name: n for n in nodes(config)}
    assert set(emulation.volumes(config, machines["stor1"])) == {
        "/var/lib/docker",
        "/var/lib/kubelet",
        "/var/lib/etcd",
    }
    assert emulation.loops(machines["stor1"])
    assert [n.roles for n in machines.values()] == [n.roles for n in NODES.values()]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("stor1", []),
        ("mast1", []),
        ("comp1", ["b 7:* rwm", "c 10:237 rwm"]),
        ("comp2", ["c 195:* rwm", "c 511:* rwm", "b 7:* rwm", "c 10:237 rwm"]),
    ],
)
def test_only_gpu_nodes_open_gpus_and_only_those_that_mount_volumes_loop_devices(name, rules):
    flags = emulation.flags(CONFIG, NODES[name], "l=x")
    assert [value for flag, value in pairwise(flags) if flag == "--device-cgroup-rule"] == rules


@pytest.mark.parametrize(("name", "there"), [("stor1", False), ("comp1", True)])
def test_files_are_in_the_archive_of_the_nodes_that_need_them(name, there, tmp_path):
    folder = Folder(tmp_path)
    folder.host_keys(name).parent.mkdir(parents=True)
    for suffix in ("", ".pub"):
        folder.host_keys(name).with_name(f"{name}{suffix}").write_text("key")
    with tarfile.open(fileobj=io.BytesIO(nodefiles.archive(FakeProc(), folder, CONFIG, NODES[name]))) as tar:
        files = {m.name: m for m in tar.getmembers()}
        group = "etc/default/avadm-lab-kubernetes"
        contents = tar.extractfile(group).read() if group in files else b""
    assert (emulation.RUNTIME.lstrip("/") in files) is there
    if there:
        assert files[emulation.RUNTIME.lstrip("/")].mode == 0o755
        unit = "etc/systemd/system/sysinit.target.wants/avadm-lab-kubernetes.service"
        assert files[unit].issym()
        assert contents == b"AVADM_LAB_GPUS=0\nAVADM_LAB_LOOPS=64\n"


def test_remove_takes_the_labs_volumes_and_cgroups_and_no_others(tmp_path):
    for name in ("avadm-x-comp1/docker/1", "avadm-x-y-comp1", "avadm-x-comp2", "system"):
        (tmp_path / "memory" / name).mkdir(parents=True)
    (tmp_path / "memory/avadm-x-comp2/busy").touch()
    proc = FakeProc()
    proc.on(r"^docker volume ls -q --filter label=avadm.lab=x$", "a\nb\n")
    assert emulation.remove(Docker(proc), CONFIG, tmp_path) == 2
    assert proc.ran("volume rm") == ["docker volume rm a b"]
    left = {p.name for p in (tmp_path / "memory").iterdir()}
    assert left == {"avadm-x-y-comp1", "avadm-x-comp2", "system"}


@pytest.mark.parametrize(("path", "weight"), [("cpu/{}/cpu.shares", "2048"), ("{}/cpu.weight", "200")])
def test_a_node_weighs_more_than_a_process_of_the_machine(tmp_path, path, weight):
    file = tmp_path / path.format("avadm-x-stor1")
    file.parent.mkdir(parents=True)
    file.write_text("100")
    emulation.weigh(CONFIG, NODES["stor1"], tmp_path)
    assert file.read_text() == weight


def test_a_cgroup_that_docker_did_not_make_is_left_alone(tmp_path):
    emulation.weigh(CONFIG, NODES["stor1"], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        (["--root", "/r", "create", "--bundle", "/b", "id"], "/b/config.json"),
        (["run", "-b", "/b", "id"], "/b/config.json"),
        (["create", "--bundle=/b", "id"], "/b/config.json"),
        (["create", "id"], "./config.json"),
        (["exec", "--process", "/tmp/p", "--detach", "id"], "/tmp/p"),
        (["exec", "id", "true"], None),
        (["state", "id"], None),
    ],
)
def test_the_runtime_finds_what_is_asked_for(argv, file):
    assert shim.configuration(argv) == file


def test_the_runtime_asks_for_nothing_that_is_unavailable():
    # A node without CAP_SYS_RESOURCE (24) and CAP_SYS_TIME (25).
    have = shim.had("Name:\tx\nCapEff:\t0\nCapBnd:\t000001fffcffffff\n")
    assert {"CAP_CHOWN", "CAP_SYS_ADMIN", "CAP_CHECKPOINT_RESTORE"} <= have
    assert not {"CAP_SYS_RESOURCE", "CAP_SYS_TIME"} & have
    caps = {"bounding": ["CAP_SYS_RESOURCE", "CAP_CHOWN", "CAP_SYS_TIME"], "effective": ["CAP_CHOWN"]}
    got = shim.reduced({"process": {"oomScoreAdj": -998, "capabilities": caps}}, have)["process"]
    left = {"bounding": ["CAP_CHOWN"], "effective": ["CAP_CHOWN"]}
    assert got == {"oomScoreAdj": 0, "capabilities": left}
    assert shim.reduced({"process": {"oomScoreAdj": 1000}}, have) == {"process": {"oomScoreAdj": 1000}}
    assert shim.reduced({"process": {"args": ["x"]}}, have) == {"process": {"args": ["x"]}}
    further = {"args": ["x"], "capabilities": {"bounding": ["CAP_SYS_TIME", "CAP_CHOWN"]}}
    assert shim.reduced(further, have) == {"args": ["x"], "capabilities": {"bounding": ["CAP_CHOWN"]}}


def test_the_runtime_gives_a_privileged_container_the_node_s_devices():
    node = shim.allowed("b *:* m\nc 1:3 rwm\nc 136:* rwm\n")
    assert node == [
        {"type": "b", "access": "m", "allow": True},
        {"type": "c", "access": "rwm", "allow": True, "major": 1, "minor": 3},
        {"type": "c", "access": "rwm", "allow": True, "major": 136},
    ]
    assert shim.allowed("a *:* rwm\n") == []

    def rules(asked, devices):
        spec = shim.reduced({"linux": {"resources": {"devices": asked}}}, set(), devices)
        return spec["linux"]["resources"]["devices"]

    every = [{"allow": True, "access": "rwm"}]
    assert rules(every, node) == [{"allow": False, "access": "rwm"}, *node]
    assert rules([{"allow": True, "type": "a", "access": "rwm"}], node)[1:] == node
    assert rules(every, []) == every
    null = {"allow": True, "type": "c", "major": 1, "minor": 3, "access": "rwm"}
    usual = [{"allow": False, "access": "rwm"}, null]
    assert rules(list(usual), node) == usual


def test_the_runtime_becomes_runc_with_the_same_arguments(tmp_path):
    env = stub(tmp_path / "runc", 'echo "$@"')
    (tmp_path / "config.json").write_text(json.dumps({"process": {"oomScoreAdj": -998}}))
    argv = ["create", "--bundle", str(tmp_path), "id"]
    assert sh(sys.executable, RUNC_LAB, *argv, env=env, check=True).stdout.split() == argv
    assert json.loads((tmp_path / "config.json").read_text())["process"]["oomScoreAdj"] == 0


def test_a_machine_without_cgroup_v1_is_refused_where_kubelet_is_to_run(tmp_path):
    with pytest.raises(AvadmError) as error:
        emulation.suit(list(NODES.values()), tmp_path)
    (finding,) = error.value.findings
    assert finding.where == str(tmp_path)
    assert "systemd.unified_cgroup_hierarchy=0" in finding.remedy
    assert "make demo-storage" in finding.remedy
    emulation.suit([NODES["stor1"]], tmp_path)
    (tmp_path / "memory").mkdir()
    emulation.suit(list(NODES.values()), tmp_path)


def test_one_node_leaves_with_its_own_volumes_and_groups(tmp_path):
    proc, config = FakeProc(), Config()
    worker = next(n for n in nodes(config) if "worker" in n.roles)
    own = sorted(emulation.volumes(config, worker).values())
    assert own
    proc.on(
        r"^docker volume ls -q --filter label=avadm.lab=lab$", "\n".join([*own, "avadm-lab-comp9-docker"])
    )
    for name in (worker.name, f"{worker.name}9"):
        (tmp_path / "memory" / f"avadm-lab-{name}" / "pod").mkdir(parents=True)
    assert emulation.discard(Docker(proc), config, worker, tmp_path) == len(own)
    assert proc.ran("volume rm") == [f"docker volume rm {' '.join(own)}"]
    assert [path.name for path in (tmp_path / "memory").iterdir()] == [f"avadm-lab-{worker.name}9"]
