"""Replacing an OSD's disk: its id stays, only its own data are copied, no last copy is destroyed, no old disk written."""

import pytest

from avadm.cluster.connection import Cluster
from avadm.cluster.osd_map import ASK_AGAIN_S
from avadm.cluster.settings import Settings
from avadm.errors import AvadmError
from avadm.operations import disk_replace as module
from avadm.operations import run as operations
from avadm.operations.disk_replace import Wanted, build
from avadm.site.load import load
from avadm.state.site_state import SiteState
from tests.unit.fakes.clock import Clock
from tests.unit.operations.disk_room import GB, Room


class Desk:
    """A controller; it may be killed and another one take its records over."""

    def __init__(self, room):
        self.room, self.lines = room, []

    @property
    def cluster(self):
        site_file = load(self.room.path)
        return Cluster(site_file, self.room, SiteState.of(site_file.path, "t"))

    def plan(self, target="osd.0", new=None, drain=False, accepted=(), node="stor1", old=None):
        return build(Wanted(node, target, new, drain, tuple(accepted), old))(self.cluster)

    def against(self, *args, **more):
        planned = self.plan(*args, **more)
        return [f.check for f in operations.refused(planned, more.get("accepted", ()))]

    def run(self, *args, tell=None, **more):
        cluster = self.cluster
        settings = Settings(cluster, self.lines.append)
        assert settings.recover() == []
        operation = self.plan(*args, **more)
        if found := operations.refused(operation, more.get("accepted", ())):
            raise AvadmError(found)
        clock = Clock()

        def shown(line):
            self.lines.append(line)
            if tell:
                tell(line)

        operations._recorded(cluster, operation, settings, shown, operations.Clock(clock, clock.sleep))


@pytest.fixture
def room(tmp_path, monkeypatch):
    for name in ("CACHE", "RUNS"):
        monkeypatch.setenv(f"AVADM_{name}", str(tmp_path / name.lower()))
    room = Room.of(tmp_path / "site.yml")
    monkeypatch.setattr(module, "run_phase", room.phase)
    return room


@pytest.fixture
def desk(room):
    return Desk(room)


def devices(room, node="stor1"):
    return [d.by_id.rpartition("/")[2] for d in load(room.path).site.node(node).devices]


def replaced(room, name="N9", number=0):
    """Assert that an OSD is on its new disk with all its data, and nothing is left set."""
    assert room.osds[number] == {
        "host": "stor1", "uuid": f"new-{name}", "up": True, "in": True, "destroyed": False
    }  # fmt: skip
    assert room.clean()
    assert name in devices(room)
    assert "A0" not in "".join(devices(room))
    assert room.noout == set()
    return True


def test_a_dead_disk_is_replaced_and_only_its_own_data_are_copied(room, desk):
    room.die(0, recovered=True)
    room.insert("stor1", "N9")
    assert desk.against() == []
    desk.run()
    assert replaced(room)
    assert room.copied == room.held(0)
    assert devices(room) == ["wwn-A1", "N9"]
    assert "# bought in May" in room.path.read_text()
    assert desk.cluster.state.begun() == []


def test_a_second_run_changes_nothing(room, desk):
    room.die(0, recovered=True)
    room.insert("stor1", "N9")
    desk.run(new="N9")
    before, text = list(room.changes), room.path.read_text()
    desk.run(new="N9")
    assert (room.changes, room.path.read_text()) == (before, text)
    # Without a name it could mean one more replacement: the OSD works.
    assert desk.against() == ["replace-in-use", "replace-no-disk"]


def test_a_working_osd_is_refused_unless_its_data_are_moved_first(room, desk):
    room.insert("stor1", "N9")
    assert desk.against() == ["replace-in-use"]
    assert desk.against(drain=True) == []
    desk.run(drain=True)
    assert replaced(room)
    assert room.changes == ["out osd.0", "stop 0", "destroy 0", "phase"]
    assert room.disk("stor1", "wwn-A0").writes == 0
    assert [on for _, _, on in room.lit][-1] is False
    assert ("stor1", "/dev/sdb", True) in room.lit


def test_an_osd_that_cannot_be_drained_is_not_destroyed(room, desk):
    room.insert("stor1", "N9")
    room.stuck = True
    with pytest.raises(AvadmError) as error:
        desk.run(drain=True)
    assert error.value.findings[0].check == "gate-closed"
    assert room.changes == ["out osd.0"]
    assert room.osds[0]["up"]


def test_a_degraded_one_is_refused_or_accepted_and_then_copied_once(room, desk):
    room.die(0, recovered=False)
    room.stuck = True
    room.insert("stor1", "N9")
    assert desk.against() == ["replace-degraded"]
    room.copied = 0

    def go(line):
        room.stuck = "copy the data" not in line and room.stuck

    desk.run(accepted=["replace-degraded"], tell=go)
    assert replaced(room)
    assert room.copied == room.held(0)
    # While it was in and gone, nothing of it was to be copied elsewhere.
    assert room.seen == [("destroy", {"stor1"}), ("make", {"stor1"})]


def test_managers_without_statistics_are_asked_again_when_all_is_clean(room, desk, monkeypatch):
    waits = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    room.die(0, recovered=True)
    room.insert("stor1", "N9")
    room.vague = 2
    assert desk.against() == []
    assert waits == [ASK_AGAIN_S] * 2
    room.vague = 1
    desk.run()
    assert replaced(room)


def test_managers_without_statistics_are_believed_when_something_is_unclean(room, desk, monkeypatch):
    waits = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    room.die(0, recovered=False)
    room.stuck = True
    room.insert("stor1", "N9")
    room.vague = 5
    assert (desk.against(), waits) == (["replace-degraded"], [])


def test_a_degraded_one_is_drained_before_it_is_destroyed(room, desk):
    room.die(0, recovered=False)
    room.insert("stor1", "N9")
    assert desk.against(drain=True) == []
    desk.run(drain=True)
    assert replaced(room)


def test_two_dead_disks_of_a_node_are_replaced_one_after_the_other(room, desk):
    room.die(1, recovered=True)
    room.die(0, recovered=False)
    room.insert("stor1", "N8")
    room.insert("stor1", "N9")
    accepted = ["replace-other-down"]
    assert "replace-others-down" in desk.against(new="N9", old="wwn-A0", accepted=accepted)
    assert desk.against(new="N9", drain=True, accepted=accepted) == ["replace-entry"]
    assert desk.against(new="N9", drain=True, accepted=accepted, old="N8") == ["replace-old"]
    desk.run(new="N9", drain=True, accepted=accepted, old="wwn-A0")
    assert devices(room) == ["wwn-A1", "N9"]
    desk.run("osd.1", new="N8", drain=True)
    assert devices(room) == ["N9", "N8"]
    assert all(osd["up"] for osd in room.osds.values())


@pytest.mark.parametrize("drain", [False, True])
def test_the_last_copy_of_anything_is_never_destroyed(room, desk, drain):
    room.stuck = True
    room.die(2, recovered=False)
    room.die(0, recovered=False, pulled=False)
    room.insert("stor1", "N9")
    accepted = ["replace-degraded"]
    other = "replace-other-down" if drain else "replace-others-down"
    assert set(desk.against(drain=drain, accepted=accepted)) == {"replace-last-copy", other}
    assert room.changes == []


def test_an_osd_that_dies_between_plan_and_destruction_stops_it(room, desk):
    room.die(0, recovered=False, pulled=False)
    room.stuck = True
    room.insert("stor1", "N9")

    def other_dies(line):
        if "stop osd.0" in line:
            room.osds[2]["up"] = False

    with pytest.raises(AvadmError) as error:
        desk.run(accepted=["replace-degraded"], tell=other_dies)
    assert {f.check for f in error.value.findings} == {"replace-last-copy"}
    assert not room.osds[0]["destroyed"]


def test_two_dead_disks_are_replaced_one_after_the_other(room, desk):
    room.die(3, recovered=True)
    room.die(0, recovered=True)
    room.insert("stor1", "N9")
    assert desk.against() == ["replace-other-down"]
    desk.run(accepted=["replace-other-down"])
    assert replaced(room)


def test_another_osd_is_down_and_its_data_are_not_elsewhere(room, desk):
    room.die(0, recovered=True)
    room.stuck = True
    room.die(3, recovered=False)
    room.insert("stor1", "N9")
    found = desk.against(accepted=["replace-other-down", "replace-degraded"])
    assert "replace-others-down" in found


# New disk, how it is named, what is refused.
DISKS = {
    "smaller": ({"size": 9 * GB}, None, "replace-smaller"),
    "not blank": ({"state": "refused"}, "N9", "replace-not-blank"),
    "of another OSD": ({}, "wwn-A1", "replace-not-blank"),
    "unknown": ({}, "N8", "disk-name"),
    "of another node": ({}, "wwn-B2", "replace-elsewhere"),
}


@pytest.mark.parametrize("case", DISKS)
def test_a_wrong_new_disk_is_refused(room, desk, case):
    more, named, wanted = DISKS[case]
    room.die(0, recovered=True)
    room.insert("stor1", "N9", **more)
    assert wanted in desk.against(new=named)
    assert room.changes == []


def test_all_reasons_come_in_one_pass(room, desk):
    room.insert("stor1", "N9", size=GB)
    room.die(4, recovered=True)
    assert set(desk.against()) == {"replace-in-use", "replace-smaller", "replace-others-down"}


def test_several_blank_disks_need_a_name(room, desk):
    room.die(0, recovered=True)
    room.insert("stor1", "N8")
    room.insert("stor1", "N9")
    assert desk.against() == ["replace-several"]
    assert desk.against(new="S-N9") == []


@pytest.mark.parametrize(
    ("target", "node", "check"),
    [
        ("osd.2", "stor1", "replace-osd"),
        ("osd.77", "stor1", "replace-osd"),
        ("S-nothing", "stor1", "replace-target"),
        ("wwn-B2", "stor1", "replace-target"),
        ("osd.0", "stor9", "unknown-node"),
    ],
)
def test_a_wrong_osd_or_node_is_refused(room, desk, target, node, check):
    with pytest.raises(AvadmError) as error:
        desk.plan(target, node=node)
    assert [f.check for f in error.value.findings] == [check]


@pytest.mark.parametrize("target", ["S-wwn-A0", "wwn-A0", "sdb", "osd.0"])
def test_the_old_disk_is_named_as_disk_list_names_it(room, desk, target):
    assert desk.plan(target).command == "avadm disk replace stor1 osd.0"


def test_a_disk_that_is_gone_is_named_as_the_site_file_does(room, desk):
    room.die(0, recovered=True)
    assert desk.plan("wwn-A0").command == "avadm disk replace stor1 osd.0"
    room.die(1, recovered=True)
    with pytest.raises(AvadmError) as error:
        desk.plan("wwn-A0")
    assert error.value.findings[0].check == "replace-target"


def test_a_node_that_does_not_answer_is_refused(room, desk):
    room.dead.add("stor1")
    with pytest.raises(AvadmError) as error:
        desk.plan()
    assert error.value.findings[0].host == "stor1"


def test_without_a_new_disk_it_waits_for_one(room, desk):
    room.die(0, recovered=True, pulled=False)

    def swap(line):
        if "there is none" in line:
            room.disks["stor1"].pop(0)
            room.insert("stor1", "N9")

    desk.run(tell=swap)
    assert replaced(room)


@pytest.mark.parametrize("left", ["refused", "blank"])
def test_a_bad_new_disk_costs_another_try(room, desk, left):
    room.die(0, recovered=True)
    room.left = left
    room.insert("stor1", "N8")
    room.bad.add("N8")
    with pytest.raises(AvadmError):
        desk.run()
    [begun] = desk.cluster.state.begun()
    assert begun.command == "avadm disk replace stor1 osd.0"
    room.insert("stor1", "N9")
    desk.run(new="N9")
    assert replaced(room)
    assert devices(room) == ["wwn-A1", "N9"]
    assert room.copied == room.held(0)


def test_a_bad_new_disk_that_was_pulled_is_replaced_by_the_next(room, desk):
    room.die(0, recovered=True)
    room.insert("stor1", "N8")
    room.bad.add("N8")
    with pytest.raises(AvadmError):
        desk.run()
    room.disks["stor1"].pop()
    room.insert("stor1", "N9")
    desk.run()
    assert replaced(room)
    assert devices(room) == ["wwn-A1", "N9"]


def test_the_old_disk_may_stay_in_its_bay(room, desk):
    room.die(0, recovered=True, pulled=False)
    room.insert("stor1", "N9")
    desk.run()
    assert replaced(room)
    assert room.disk("stor1", "wwn-A0").writes == 0


class Killed(BaseException):
    """Ends the controller at once."""


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("boundary", range(1, 9))
def test_killed_at_any_step_the_same_command_continues(room, desk, boundary, drain):
    if not drain:
        room.die(0, recovered=True)
    room.insert("stor1", "N9")

    def kill(line):
        if line.startswith(f"[{boundary}/"):
            raise Killed

    if boundary <= len(desk.plan(drain=drain).steps):
        with pytest.raises(Killed):
            desk.run(drain=drain, tell=kill)
        assert len(desk.cluster.state.begun()) == 1
    desk.run(drain=drain)
    assert replaced(room)
    assert room.changes.count("destroy 0") == 1
    assert room.copied <= room.held(0) * (2 if drain else 1)
    assert desk.cluster.state.settings() == []


@pytest.mark.parametrize(
    "line", ["    +      - by_id", "    waiting until osd.0 may", "    waiting until all placement"]
)
def test_killed_within_a_step_the_same_command_continues(room, desk, line):
    room.insert("stor1", "N9")

    def kill(text):
        if text.startswith(line):
            raise Killed

    with pytest.raises(Killed):
        desk.run(drain=True, tell=kill)
    desk.run(drain=True)
    assert replaced(room)
    assert (room.changes.count("destroy 0"), devices(room)) == (1, ["wwn-A1", "N9"])


def test_a_device_class_that_was_written_is_taken_over(room, desk):
    text = room.path.read_text()
    for name in ("A0", "A1", "B2", "B3"):
        text = text.replace(f'wwn-{name}"', f"wwn-{name}").replace('"/dev/disk', "/dev/disk")
        text = text.replace(f"wwn-{name}\n", f"wwn-{name}\n        device_class: nvme\n")
    room.path.write_text(text.replace("wwn-C4}", "wwn-C4, device_class: nvme}"))
    room.die(0, recovered=True)
    room.insert("stor1", "N9")
    desk.run()
    assert load(room.path).site.node("stor1").devices[-1].device_class == "nvme"
