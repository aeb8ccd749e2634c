"""The driver against an engine that is a dictionary."""

import json
from types import SimpleNamespace

import pytest

from avadm_lab.docker import engine_flags, machine
from avadm_lab.docker.machine import DockerDriver
from avadm_lab.driver import MachineState
from avadm_lab.folder import Folder
from avadm_lab.layout import Config, nodes
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeLoops, FakeProc, Reporter

CONFIG = Config(storage=1, compute=1, masters=0, disks=1)
STOR, COMP = nodes(CONFIG)


class FakeEngine:
    """docker, as far as the driver uses it."""

    def __init__(self, proc: FakeProc) -> None:
        self.containers: dict[str, dict] = {}
        self.net = "net-1"
        proc.call(r"^docker ps", lambda a: (0, "\n".join(self.containers), ""))
        proc.call(r"^docker container inspect", lambda a: (0, json.dumps(list(self.containers.values())), ""))
        proc.on(r"^docker network ls", "n")
        proc.on(r"^docker info", "cgroupfs\n")
        proc.call(
            r"^docker network inspect", lambda a: (0, json.dumps([{"Id": self.net, "Name": "avadm-lab"}]), "")
        )
        proc.call(r"^docker create", self._create)
        proc.call(r"^docker (start|kill|stop) ", self._turn)
        proc.call(r"^docker rm ", self._rm)
        proc.on("is-active ssh.service", "active\n")

    def _create(self, argv):
        named = {argv[i]: argv[i + 1] for i in range(len(argv) - 1)}
        labels = dict(argv[i + 1].split("=") for i, a in enumerate(argv) if a == "--label")
        devices = [argv[i + 1].split(":") for i, a in enumerate(argv) if a == "--device"]
        self.containers[named["--name"]] = {
            "Id": named["--name"],
            "Name": "/" + named["--name"],
            "State": {"Status": "created", "Running": False},
            "Config": {"Labels": labels, "Image": argv[-1 - len(engine_flags.INIT)]},
            "HostConfig": {"Devices": [{"PathOnHost": d[0], "PathInContainer": d[-1]} for d in devices]},
            "NetworkSettings": {"Networks": {"avadm-lab": {"NetworkID": self.net}}},
        }
        return 0, "", ""

    def _turn(self, argv):
        on = argv[1] == "start"
        self.containers[argv[-1]]["State"] = {"Status": "running" if on else "exited", "Running": on}
        return 0, "", ""

    def _rm(self, argv):
        for i in argv[4:]:
            self.containers.pop(i, None)
        return 0, "", ""


@pytest.fixture
def it(tmp_path, monkeypatch):
    proc, reply = FakeProc(), Reporter()
    folder = Folder(tmp_path / "lab")
    folder.make()
    folder.secrets()
    for name in ("stor1", "comp1"):
        folder.host_keys(name).parent.mkdir(exist_ok=True)
        folder.host_keys(name).write_text("private")
        folder.host_keys(name).with_name(f"{name}.pub").write_text("ssh-ed25519 AAAA root")
    monkeypatch.setattr(engine_flags, "choose", lambda *a: ["--cap-add", "ALL"])
    monkeypatch.setattr(machine.image, "ensure", lambda *a: "avadm-node:1")
    monkeypatch.setattr(machine.inotify, "provide", lambda nodes: "")
    kernel, engine = FakeLoops(proc), FakeEngine(proc)
    driver = DockerDriver(proc, CONFIG, folder, tmp_path / "caches", reply)
    return SimpleNamespace(
        proc=proc, reporter=reply, folder=folder, kernel=kernel, engine=engine, driver=driver
    )


def up(it):
    it.proc.calls.clear()
    return it.driver.ensure([STOR, COMP])


def test_makes_every_node_then_nothing_more(it):
    assert up(it) == ["stor1", "comp1"]
    assert {s.state for s in it.driver.states([STOR, COMP]).values()} == {MachineState.RUNNING}
    assert up(it) == []
    assert not it.proc.ran("docker (create|start|rm)|losetup /dev|chpasswd")


def test_password_goes_by_stdin_and_never_in_arguments(it):
    up(it)
    secret = it.folder.password.read_text().strip()
    assert not any(secret in call for call in it.proc.calls)
    assert f"root:{secret}\n".encode() in it.proc.stdins.values()


def test_private_host_key_goes_by_stdin(it):
    up(it)
    (line,) = it.proc.ran("docker cp - avadm-lab-comp1:/")
    assert b"ssh_host_ed25519_key" in it.proc.stdins[line]


def test_a_stopped_node_is_started_not_made_again(it):
    up(it)
    it.driver.power(COMP, on=False)
    assert it.driver.states([COMP])["comp1"].state is MachineState.STOPPED
    assert up(it) == ["comp1"]
    assert not it.proc.ran("docker (create|rm)")


def test_a_detached_disk_comes_back_under_the_running_node(it):
    up(it)
    it.kernel.at.clear()
    assert up(it) == ["stor1"]
    assert list(it.kernel.at) == [0]
    assert not it.proc.ran("docker (create|rm)")


def test_a_stolen_loop_number_gives_a_new_container_with_what_was_installed(it):
    up(it)
    it.kernel.at = {0: "/theirs"}
    assert up(it) == ["stor1"]
    assert it.proc.ran("docker commit .* avadm-kept:lab-stor1")
    (line,) = it.proc.ran("docker create")
    assert "/dev/loop1:/dev/sdb" in line
    assert " avadm-kept:lab-stor1 /bin/sh -c " in line
    assert "--cgroup-parent /avadm-lab-stor1 " in line
    assert it.kernel.at[0] == "/theirs"


def test_systemds_groups_are_left_to_systemd(it):
    it.proc.on(r"^docker info", "systemd\n")
    up(it)
    assert not any("--cgroup-parent" in line for line in it.proc.ran("docker create"))


def test_a_node_that_shares_the_machines_control_groups_is_made_again(it):
    up(it)
    it.engine.containers["avadm-lab-comp1"]["HostConfig"]["CgroupnsMode"] = "host"
    assert "control groups" in it.driver.states([COMP])["comp1"].fault
    assert up(it) == ["comp1"]
    assert it.driver.states([COMP])["comp1"].fault == ""


def test_where_nothing_can_be_kept_it_is_shown(it):
    up(it)
    it.kernel.at = {0: "/theirs"}
    it.proc.on("docker commit", rc=1)
    up(it)
    assert any("what was installed on it is gone" in note for note in it.reporter.notes)


def test_a_network_made_again_gives_new_containers(it):
    up(it)
    it.engine.net = "net-2"
    assert up(it) == ["stor1", "comp1"]
    assert len(it.proc.ran("docker create")) == 2


def test_a_half_made_container_is_made_again(it):
    up(it)
    it.engine.containers["avadm-lab-comp1"]["State"] = {"Status": "created", "Running": False}
    assert up(it) == ["comp1"]
    assert it.proc.ran("docker rm -f -v avadm-lab-comp1")
    assert not it.proc.ran("docker commit")


def test_a_node_whose_disk_is_not_its_own_is_refused(it):
    it.proc.on("chpasswd", rc=1, stderr="/dev/disk/by-id/scsi-AVADM_LAB-stor1-b is not loop device 7:0")
    findings = refused(up, it)
    assert {f.host for f in findings} == {"stor1", "comp1"}
    assert "is not loop device" in findings[0].found


def test_remove_takes_all_of_ours_and_nothing_else(it):
    up(it)
    it.kernel.at[7] = "/theirs"
    it.driver.remove()
    assert it.engine.containers == {}
    assert it.kernel.at == {7: "/theirs"}


def test_remove_leaves_the_loop_devices_of_a_lab_of_another_name_in_its_folder(it, tmp_path):
    up(it)
    it.folder.write({"config": CONFIG.model_dump(mode="json")})
    before = dict(it.kernel.at)
    assert before
    left_over = CONFIG.model_copy(
        update={"name": "t7"}
    )  # made in this folder before the lab that is there now
    DockerDriver(it.proc, left_over, it.folder, tmp_path, it.reporter).remove()
    assert it.kernel.at == before


def test_a_lab_of_that_name_in_another_folder_is_seen(it, tmp_path):
    up(it)
    other = Folder(tmp_path / "other")
    other.make()
    driver = DockerDriver(it.proc, CONFIG, other, tmp_path, Reporter())
    assert driver.owner() is None, "a folder without lab.json is gone"
    it.folder.write({"config": {}})
    assert driver.owner() == it.folder.root
    assert it.driver.owner() is None


def test_one_node_is_carried_away_with_its_disks_and_its_host_key(it):
    up(it)
    disks = sorted(path.name for path in it.folder.disks.iterdir())
    assert disks == [f"{STOR.disks[0].serial}.img"]
    assert it.driver.discard(STOR) == ["the container of stor1", "1 disk(s)"]
    assert list(it.engine.containers) == ["avadm-lab-comp1"]
    assert list(it.folder.disks.iterdir()) == []
    assert it.kernel.at == {}
    assert not it.folder.host_keys("stor1").exists()
    assert it.folder.host_keys("comp1").exists()
    assert it.driver.discard(STOR) == []
