"""up and down, with a driver that only remembers."""

from types import SimpleNamespace

import pytest

from avadm import paths
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm_lab import lab as module
from avadm_lab.driver import MachineState, NodeState
from avadm_lab.folder import Folder
from avadm_lab.lab import Lab
from avadm_lab.layout import Config
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc, Reporter


class FakeDriver:
    def __init__(self) -> None:
        self.running: set[str] = set()
        self.supplied: set[str] = set()
        self.network = False
        self.name = ""
        self.other = None
        self.taken = None  # names that the other folder has; None for any
        self.removed = 0
        self.unfit = ""
        self.bays: list[tuple[str, str]] = []

    def pull(self, node, disk):
        self.bays.append(("pull", disk.serial))

    def insert(self, node, disk):
        self.bays.append(("insert", disk.serial))

    def owner(self):
        return self.other if self.taken is None or self.name in self.taken else None

    def suit(self, nodes):
        if self.unfit and any(n.kubernetes for n in nodes):
            raise AvadmError(Finding("lab-cgroup", self.unfit))

    def prepare(self):
        made, self.network = not self.network, True
        return made

    def states(self, nodes):
        return {
            n.name: NodeState(MachineState.RUNNING if n.name in self.running else MachineState.MISSING)
            for n in nodes
        }

    def ensure(self, nodes):
        new = [n.name for n in nodes if n.name not in self.running]
        self.running |= set(new)
        return new

    def supply(self, nodes):
        new = [n.name for n in nodes if n.gpus and n.name not in self.supplied]
        self.supplied |= set(new)
        return new

    def host_key(self, node):
        assert node.name in self.running
        return f"ssh-ed25519 KEY-{node.name}"

    def power(self, node, on):
        (self.running.add if on else self.running.discard)(node.name)

    def discard(self, node):
        had = node.name in self.running
        self.running.discard(node.name)
        self.supplied.discard(node.name)
        return [f"the container of {node.name}"] if had else []

    def remove(self):
        self.removed += 1
        had, self.running, self.network = bool(self.running), set(), False
        return ["containers"] if had else []


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module.prereqs, "ensure", lambda proc, report: [])
    driver, reply = FakeDriver(), Reporter()
    cacher = SimpleNamespace(url="http://10.77.0.1:3142", ensure=lambda: False, stop=lambda: False)
    engine = SimpleNamespace(alive=lambda: True, ensure=lambda report: False, stop=lambda report: True)

    def for_config(proc, config, *rest):
        driver.name = config.name
        return driver

    monkeypatch.setattr(module, "DockerDriver", for_config)
    monkeypatch.setattr(module, "Cacher", lambda *a: cacher)

    def make(named=True, **numbers):
        lab = Lab(Folder(tmp_path / "home" / ".lab"), Config(**numbers), FakeProc(), reply, named=named)
        lab.engine = engine
        return lab

    make.driver, make.reporter, make.engine = driver, reply, engine
    return make


@pytest.fixture
def lab(make):
    """A lab of the usual numbers that is up."""
    lab = make()
    lab.up()
    return lab


def test_up_writes_site_file_pointer_and_known_hosts_then_changes_nothing(make):
    lab = make()
    assert lab.up().what
    assert paths.default_site_pointer().read_text() == f"{lab.folder.site}\n"
    assert "10.77.0.11 ssh-ed25519 KEY-stor1\n" in lab.folder.known_hosts.read_text()
    assert "host_key: ssh-ed25519 KEY-comp3" in lab.folder.site.read_text()
    assert make().up().what == ()


def test_up_again_starts_only_what_is_down(make, lab):
    make.driver.running.discard("stor2")
    assert lab.up().what == ("started stor2",)


def test_a_machine_that_cannot_run_kubelet_is_refused_before_anything_is_made(make, monkeypatch):
    installed = []
    monkeypatch.setattr(module.prereqs, "ensure", lambda proc, report: installed.append("docker") or [])
    make.driver.unfit = "no cgroup v1"
    lab = make()
    with pytest.raises(AvadmError, match="no cgroup v1"):
        lab.up()
    assert not installed
    assert not make.driver.running
    assert not lab.folder.state.exists()
    make(masters=0).up()
    assert make.driver.running


def test_numbers_of_no_valid_site_are_refused_before_anything_is_made(make):
    lab = make(compute=1)
    with pytest.raises(AvadmError, match="Prometheus runs as two or three"):
        lab.up()
    assert not make.driver.running
    assert not lab.folder.state.exists()


def test_nodes_may_be_added(make, lab):
    assert "started comp4" in make(compute=4).up().what
    assert "name: comp4" in lab.folder.site.read_text()


@pytest.mark.parametrize(
    "numbers", [{"compute": 2}, {"disks": 3}, {"subnet": "10.9.0.0/24"}, {"name": "other"}]
)
@pytest.mark.usefixtures("lab")
def test_what_a_lab_is_made_from_does_not_change_under_it(make, numbers):
    assert "lab down" in refused(make(**numbers).up)[0].remedy


@pytest.mark.usefixtures("lab")
def test_all_wrong_options_are_reported_at_once(make):
    assert len(refused(make(compute=2, disks=3, subnet="10.9.0.0/24").up)) == 3


def test_an_edited_site_file_is_left_alone(make, lab):
    lab.folder.site.write_text("# mine\n")
    make.driver.running.clear()
    lab.up()
    assert lab.folder.site.read_text() == "# mine\n"
    assert any("was edited" in note for note in make.reporter.notes)


def test_down_leaves_neither_folder_nor_pointer(lab):
    lab.down()
    assert not lab.folder.root.exists()
    assert not paths.default_site_pointer().exists()
    assert lab.down() == []


def test_down_leaves_another_sites_pointer(lab):
    paths.default_site_pointer().write_text("/a/site.yml\n")
    lab.down()
    assert paths.default_site_pointer().read_text() == "/a/site.yml\n"


def test_engine_is_ended_only_when_asked(make):
    ended = []
    make.engine.stop = lambda report: bool(ended.append(1)) or True
    make().down()
    assert ended == []
    assert make().down(engine=True) == ["the container engine"]


def test_a_lab_of_that_name_elsewhere_is_neither_made_over_nor_removed(make, tmp_path):
    make.driver.other = tmp_path / "elsewhere"
    assert "elsewhere" in refused(make().up)[0].remedy
    assert make().down() == []
    assert make.driver.removed == 0


def test_a_second_checkouts_lab_takes_a_free_name_and_network_and_keeps_them(make, tmp_path):
    make.driver.other, make.driver.taken = tmp_path / "elsewhere", {"lab", "lab2"}
    lab = make(named=False)
    lab.up()
    assert (lab.config.name, str(lab.config.subnet)) == ("lab3", "10.77.3.0/24")
    assert lab.show()["nodes"][0]["address"] == "10.77.3.11"
    assert lab.folder.config() == lab.config
    assert any("elsewhere" in note and "lab3" in note for note in make.reporter.notes)


def test_no_free_name_is_reported_with_the_first(make, tmp_path):
    make.driver.other = tmp_path / "elsewhere"
    assert "'lab'" in refused(make(named=False).up)[0].what


def test_down_of_another_name_leaves_this_folders_lab(make, lab):
    make.driver.running.add("left over")
    assert make(name="t7").down() == ["containers"]
    assert lab.folder.password.exists()
    assert paths.default_site_pointer().exists()
    assert any("another name" in note for note in make.reporter.notes)


def test_down_by_name_removes_a_lab_whose_memory_is_damaged(make):
    lab = make(name="t7")
    lab.up()
    lab.folder.state.write_text("nonsense")
    make(name="t7").down()
    assert not lab.folder.root.exists()


@pytest.mark.usefixtures("lab")
def test_down_removes_containers_when_the_engine_is_slow_to_answer(make):
    make.engine.alive = lambda: False  # and ensure() finds on its second ask that it needs no start
    assert "containers" in make().down()


def test_left_overs_of_a_lab_whose_folder_is_gone_are_cleared_first(make):
    make.driver.running = {"stor1"}
    make().up()
    assert make.driver.removed == 1
    assert any("left behind" in note for note in make.reporter.notes)


def test_gpu_nodes_get_their_stand_ins_once(make):
    lab = make(masters=1)
    assert "put stand-ins for GPUs on comp2, comp3" in lab.up().what
    assert not any("GPU" in line for line in lab.up().what)


def test_list_is_what_other_tools_rely_on(make, lab):
    make.driver.running.discard("comp1")
    nodes = {n["name"]: n for n in lab.show()["nodes"]}
    about = {"name": "stor1", "address": "10.77.0.11", "roles": ["mon", "mgr", "osd", "mds"]}
    ssh = {"user": "root", "port": 22, "key": str(lab.folder.key)}
    assert nodes["stor1"] == {**about, "ssh": ssh, "state": "running"}
    assert nodes["comp1"]["state"] == "missing"


def test_ssh_pins_the_host_key(make):
    argv = make().ssh_command("stor1", ["ceph", "-s"])
    assert "StrictHostKeyChecking=yes" in argv
    assert argv[-3:] == ["root@10.77.0.11", "ceph", "-s"]


def test_unknown_node_names_the_known_ones(make):
    assert "stor1" in refused(make().node, "stor9")[0].wanted


def test_a_machine_is_added_beside_the_site_file(make, lab):
    before = lab.folder.site.read_text()
    node = lab.add("stor4", ("osd",), disks=2)
    assert [disk.serial for disk in node.disks] == ["LAB-stor4-b", "LAB-stor4-c"]
    assert str(node.address) == "10.77.0.14"
    assert "stor4" in make.driver.running
    assert "10.77.0.14 ssh-ed25519 KEY-stor4\n" in lab.folder.known_hosts.read_text()
    assert lab.folder.site.read_text() == before
    assert lab.add("stor4", ("osd",), disks=2) == node
    again = make()
    assert again.node("stor4") == node
    assert again.up().what == ()


def test_an_added_machine_that_is_down_is_started_by_up_and_stays_out_of_the_site_file(make, lab):
    lab.add("comp4", ("client", "worker"))
    make.driver.running.discard("comp4")
    assert "started comp4" in make().up().what
    assert "comp4" not in lab.folder.site.read_text()


def test_a_machine_is_carried_away(make, lab):
    lab.add("comp4")
    assert lab.discard("comp4") == ["the container of comp4"]
    assert "comp4" not in make.driver.running
    assert make().up().what == ()
    assert "lab-node" in [one.check for one in refused(lambda: make().discard("comp4"))]


def test_one_of_the_labs_numbers_comes_back_by_up(make, lab):
    lab.discard("comp3")
    assert lab.add("comp4").name == "comp4"
    assert "comp3" not in lab.folder.known_hosts.read_text().replace("KEY-comp4", "")
    assert "started comp3" in make().up().what


def test_a_lab_that_grows_takes_an_added_machine_over(make, lab):
    lab.add("comp4", ("client", "worker"))
    grown = make(compute=4)
    grown.up()
    assert [n.name for n in grown.nodes].count("comp4") == 1
    assert "name: comp4" in grown.folder.site.read_text()


@pytest.mark.parametrize("name", ["stor1", "box1", "comp0", "stor99", "comp", "../x"])
def test_other_names_are_refused(make, lab, name):
    running = set(make.driver.running)
    assert refused(lambda: lab.add(name))[0].check == "lab-spare"
    assert make.driver.running == running


def test_without_a_lab_nothing_is_added(make):
    assert refused(lambda: make().add("stor4"))[0].check == "lab-none"


def test_a_disk_is_pulled_and_another_inserted_and_up_keeps_it(make, lab):
    pulled = lab.pull("stor1", "b")
    assert pulled.serial == "LAB-stor1-b"
    assert [d.letter for d in make().node("stor1").disks] == ["c"]
    new = lab.insert("stor1", size=5 << 30)
    assert (new.serial, new.letter, new.bytes) == ("LAB-stor1-b2", "b", 5 << 30)
    again = make()
    assert [d.serial for d in again.node("stor1").disks] == ["LAB-stor1-b2", "LAB-stor1-c"]
    assert again.up().what == ()
    assert make.driver.bays == [("pull", "LAB-stor1-b"), ("insert", "LAB-stor1-b2")]


def test_the_pulled_disk_can_be_brought_back(lab):
    lab.pull("stor1", "LAB-stor1-c")
    assert lab.insert("stor1", serial="LAB-stor1-c").serial == "LAB-stor1-c"


@pytest.mark.parametrize(
    ("do", "check"),
    [
        (lambda lab: lab.pull("stor1", "z"), "lab-disk"),
        (lambda lab: lab.pull("comp1", "b"), "lab-disk"),
        (lambda lab: lab.insert("stor1"), "lab-disk-bay"),
    ],
)
def test_a_wrong_disk_or_bay_is_refused(make, lab, do, check):
    assert refused(lambda: do(lab))[0].check == check
    assert make.driver.bays == []


@pytest.mark.parametrize("serial", ["LAB-stor2-b", "a/b", "-" * 41])
def test_a_serial_number_in_use_or_of_no_use_is_refused(lab, serial):
    lab.pull("stor1", "b")
    assert refused(lambda: lab.insert("stor1", serial=serial))[0].check == "lab-disk"


def test_an_added_machine_keeps_what_is_in_its_bays_until_it_is_carried_away(lab):
    lab.add("stor4", ("osd",), disks=2)
    lab.pull("stor4", "b")
    assert [d.letter for d in lab.add("stor4", ("osd",), disks=2).disks] == ["c"]
    lab.discard("stor4")
    assert [d.letter for d in lab.add("stor4", ("osd",), disks=2).disks] == ["b", "c"]


def test_machines_that_run_are_not_made_fit_for_other_roles(make, lab):
    with pytest.raises(AvadmError) as caught:
        make(any_role=True).up()
    assert [f.check for f in caught.value.findings] == ["lab-changed"]
    assert "any_role" in caught.value.findings[0].what
