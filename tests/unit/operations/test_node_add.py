"""`avadm node add`: the site file gets a node only when it is let in, fit, and its disks are blank; resumable."""

import json

import pytest
from ruamel.yaml import YAML

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Severity
from avadm.operations import node_add, run
from avadm.operations.follow import Pending
from avadm.site.load import load
from avadm.state.operations import OperationRecord
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.fakes.nodes import answer, called
from tests.unit.operations.removal_room import SITE, Room

WORKER = {"name": "comp4", "address": "10.9.0.24", "roles": ["client", "worker"]}
STORAGE = {"name": "stor5", "address": "10.9.0.15", "rack": "r2", "roles": ["osd"]}


def disk(serial, state="blank", rotational=False):
    return {
        "kernel": "sdb", "real": "/dev/sdb", "path": "/dev/sdb", "links": [], "serial": serial, "wwn": None,
        "numbers": serial, "state": state, "reasons": [f"{serial} has a file system"], "rotational": rotational,
        "approval": {"serial": serial}, "osd": None,
    }  # fmt: skip


class Newcomers(Room):
    """The room, and machines beside it that let nothing in before they are bootstrapped."""

    def __init__(self, root):
        super().__init__(root)
        self.strangers, self.joined, self.disks = {"comp4", "stor5"}, set(), [disk("S1"), disk("S2")]

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node in self.strangers | {"comp4", "stor5"}:
            assert node in self.joined, "asked before it was joined"
            if node in self.strangers:
                return answer(node, command, rc=255, error="no key")
            if stdin is not None and called(stdin) == "disks.report.every":
                return answer(node, command, json.dumps(self.disks))
        return super().run(node, command, timeout=timeout, stdin=stdin)

    def join(self, targets):
        self.joined |= {target.node for target in targets}


class Site:
    def __init__(self, folder, room):
        self.path, self.room, self.applied, self.lines, self.checked = folder / "site.yml", room, [], [], []
        self.path.write_text(SITE)
        self.unfit, self.locked_out, self.failing = [], False, None

    def let_in(self, site_file):
        if self.locked_out:
            raise AvadmError(finding("node-script", found="no way in", host="x"), 1)
        self.room.strangers -= {n.name for n in site_file.site.nodes}

    def follow(self, site_file, tell):
        if self.failing:
            raise self.failing
        self.applied.append([n.name for n in site_file.site.nodes])

    def build(self, entry, serials, device_class):
        return lambda cluster: node_add.build(cluster, entry, serials, device_class, self.let_in, self.follow)

    def refusals(self, entry, *serials):
        operation = run.plan(load(self.path), self.room, self.build(entry, serials, None))
        return {one.check for one in run.refused(operation, ())}

    def add(self, entry, *serials, device_class=None):
        clock = Clock()
        timed = run.Clock(clock, clock.sleep)
        build = self.build(entry, serials, device_class)
        return run.run(load(self.path), self.room, build, (), self.lines.append, clock=timed)

    @property
    def begun(self):
        return [one.command for one in SiteState.of(self.path, "t").begun()]


@pytest.fixture
def room(tmp_path):
    return Newcomers(tmp_path / "nodes")


@pytest.fixture
def site(tmp_path, room, monkeypatch):
    monkeypatch.delenv("AVADM_VAULT_PASSWORD_FILE", raising=False)
    made = Site(tmp_path, room)

    def collect(site, profile, nodes, fleet):
        made.checked += [n.name for n in nodes]

    monkeypatch.setattr(node_add, "collect", collect)
    monkeypatch.setattr(node_add, "run_checks", lambda context, checks: {"kernel": made.unfit})
    return made


def racked(site, *racks):
    """Give the site's first nodes these racks, and all others the last one."""
    yaml = YAML()
    data = yaml.load(SITE)
    for number, node in enumerate(data["nodes"]):
        node["rack"] = racks[min(number, len(racks) - 1)]
    with site.path.open("w") as stream:
        yaml.dump(data, stream)


def test_the_rack_is_needed_where_there_are_several(site):
    racked(site, "r1", "r2", "r3")
    assert site.refusals(WORKER) == {"node-rack"}
    assert "node-rack" not in site.refusals(WORKER | {"rack": "r2"})


def test_the_only_rack_is_the_new_nodes_too(site):
    racked(site, "hall")
    operation = run.plan(load(site.path), site.room, site.build(WORKER, (), None))
    assert "--rack hall" in operation.command
    assert any("rack hall, roles client worker" in step.name for step in operation.steps)


def test_phases_that_depend_on_the_number_of_osds_are_in_the_plan(site, monkeypatch):
    seen = []

    def pending(cluster, coming):
        seen.append(coming.site.node("stor5"))
        return Pending((), ())

    monkeypatch.setattr(node_add, "pending", pending)
    run.plan(load(site.path), site.room, site.build(STORAGE, ("S1", "/dev/disk/by-id/wwn-2"), None))
    assert [(d.serial, d.by_id) for d in seen[0].devices] == [("S1", None), (None, "/dev/disk/by-id/wwn-2")]


def test_a_worker_is_written_at_the_end_and_installed(site):
    site.add(WORKER)
    text = site.path.read_text()
    assert text.startswith(SITE)
    assert load(site.path).site.node("comp4").roles == ["client", "worker"]
    assert site.applied == [[*(n.name for n in load(site.path).site.nodes)]]
    assert site.checked == ["comp4"]
    assert site.begun == []


def test_disks_are_written_by_what_was_proven_of_them(site):
    site.add(STORAGE, "S1", "S2")
    node = load(site.path).site.node("stor5")
    assert [d.serial for d in node.devices] == ["S1", "S2"]
    assert node.rack == "r2"


@pytest.mark.parametrize(
    ("disks", "wanted"),
    [
        ([disk("S2")], "disk-name"),
        ([disk("S1", state="refused")], "disk-refused"),
        ([disk("S1", rotational=None)], "disk-class"),
    ],
)
def test_a_disk_that_is_not_there_or_not_blank_leaves_the_site_file_alone(site, room, disks, wanted):
    room.disks = disks
    with pytest.raises(AvadmError) as error:
        site.add(STORAGE, "S1")
    assert [one.check for one in error.value.findings] == [wanted]
    assert site.path.read_text() == SITE
    assert site.applied == []


def test_another_disk_may_be_named_afterwards_and_nothing_stays_half_done(site, room):
    with pytest.raises(AvadmError):
        site.add(STORAGE, "S9")
    assert site.begun == ["avadm node add stor5 --address 10.9.0.15 --rack r2 --role osd --serial S9"]
    site.add(STORAGE, "S1")
    assert site.begun == []


def test_a_node_that_is_not_fit_or_lets_nothing_in_is_not_written(site):
    site.unfit = [finding("node-script", found="kernel 4", host="comp4")]
    with pytest.raises(AvadmError) as error:
        site.add(WORKER)
    assert error.value.exit_code == 1
    site.unfit, site.locked_out = [], True
    with pytest.raises(AvadmError):
        site.add(WORKER)
    assert site.path.read_text() == SITE
    site.locked_out = False
    site.add(WORKER)
    assert "comp4" in site.path.read_text()


def test_warnings_of_preflight_stop_nothing(site):
    site.unfit = [finding("node-script", found="x", host="comp4", severity=Severity.WARNING)]
    site.add(WORKER)
    assert "comp4" in site.path.read_text()


def test_it_continues_after_the_site_file_was_written(site):
    site.failing = AvadmError.of("follow-failed", found="failed")
    with pytest.raises(AvadmError):
        site.add(STORAGE, "S1")
    text = site.path.read_text()
    assert "S1" in text
    site.failing = None
    site.room.disks = [disk("S1", state="osd")]
    site.add(STORAGE, "S1")
    assert site.path.read_text() == text
    assert len(site.applied) == 1
    assert site.begun == []


def test_a_second_time_it_is_known(site):
    site.add(WORKER)
    assert site.refusals(WORKER) == {"node-known"}


@pytest.mark.parametrize(
    ("change", "serials", "wanted"),
    [
        ({"name": "comp3"}, (), "node-known"),
        ({"address": "10.9.0.23"}, (), "node-known"),
        ({"address": "10.8.0.1"}, (), "address-outside"),
        ({"roles": ["cook"]}, (), "wrong-value"),
        ({"roles": ["worker", "worker"]}, (), "duplicate-role"),
        ({"roles": ["osd"]}, (), "osd-without-disks"),
        ({"roles": ["osd"]}, ("S1", "S1"), "disk-twice"),
        ({}, ("S1",), "disks-without-osd"),
        ({"name": "all"}, (), "name-reserved"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(site, room, change, serials, wanted):
    assert wanted in site.refusals({**WORKER, **change}, *serials)
    with pytest.raises(AvadmError) as error:
        site.add({**WORKER, **change}, *serials)
    assert error.value.exit_code == 2
    assert site.path.read_text() == SITE
    assert room.joined == set()


def test_a_good_node_is_not_refused(site):
    assert site.refusals(WORKER) == set()
    assert site.refusals(STORAGE, "S1") == set()
    # Four are on the way to five.
    assert site.refusals({**WORKER, "roles": ["mon"]}) == set()


@pytest.mark.parametrize(("component", "refused"), [("docker", {"operation-half-done"}), ("other", set())])
def test_a_half_done_operation_on_what_it_would_install_is_refused(site, component, refused):
    state = SiteState.of(site.path, "t")
    state.keep_operation(OperationRecord("avadm upgrade x", "upgrade", (component,), 0.0, "ann@x"))
    assert site.refusals(WORKER) == refused


def test_what_somebody_wrote_into_the_site_file_meanwhile_stays(site):
    site.room.join = lambda targets: (
        Newcomers.join(site.room, targets),
        site.path.write_text(SITE.replace("# The demo.", "# The demo, edited.")),
    )
    site.add(WORKER)
    assert site.path.read_text().startswith("# The demo, edited.")
    assert "comp4" in site.path.read_text()


def test_the_command_that_continues_has_what_the_site_file_gets():
    entry = {**STORAGE, "host_key": "ssh-ed25519 AAAA", "gpus": {"count": 2, "model": "v100"}}
    assert node_add.command(entry, ["S1"], "hdd") == (
        "avadm node add stor5 --address 10.9.0.15 --rack r2 --host-key 'ssh-ed25519 AAAA' --role osd --serial S1 "
        "--device-class hdd --gpus 2 --gpu-model v100"
    )
