"""Powering a site down: the order, what is refused, what a failure and a kill leave, and switching the nodes off."""

import itertools
import json

import pytest

from avadm.components.ava.component import NAMESPACE
from avadm.components.model import Stage
from avadm.errors import AvadmError
from avadm.operations import maintenance
from avadm.operations import run as runner
from avadm.operations.overview import overview
from avadm.state.power import PowerState
from tests.unit.operations import power_room
from tests.unit.operations.power_room import killed, kills, refusals


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    return power_room.bench(tmp_path)


def at(room, word):
    """Return where in the order something was first stopped, and last."""
    found = [i for i, (_, name) in enumerate(room.fleet.order) if name.startswith(word)]
    assert found, word
    return found[0], found[-1]


def test_all_stops_in_the_order_of_the_stages_and_only_noout_is_set(room):
    room.down()
    assert room.fleet.stopped == room.fleet.all_units
    order = [
        "pod",
        "kubelet",
        "containers",
        "kube-apiserver",
        "patroni",
        "avadm-cephfs",
        "ceph-mds",
        "ceph-osd",
    ]
    order += ["ceph-mgr", "ceph-mon", "calico-node", "etcd", "prometheus"]
    for before, after in itertools.pairwise(order):
        assert at(room, before)[1] < at(room, after)[0], (before, after)
    assert at(room, f"pod {NAMESPACE}/api")[1] < at(room, "pod shop/a")[0]
    assert room.fleet.site_noout
    words = [command for _, command in room.fleet.asked if command.startswith(("ceph", "timeout"))]
    flags = [w for w in words if " osd set" in w or " pause" in w or "nodown" in w]
    assert [w.split("15 ")[1] for w in flags] == ["osd set noout -f json"]


def test_it_is_recorded_by_whom_and_since_when_and_nothing_is_half_done(room):
    room.down()
    assert (room.note.state, room.note.user, room.note.without) == (
        PowerState.DOWN,
        runner.current_user(),
        (),
    )
    assert room.state.begun() == []
    shown = overview(room.state, room.note.since + 60, running=False)
    assert [one["age_s"] for one in shown["power"]] == [60]
    assert shown["leftovers"] == shown["operations"] == []


def test_a_standby_of_postgresql_stops_before_its_primary_whichever_that_is(room, tmp_path):
    for standby in ("mast1", "mast2"):
        (tmp_path / standby).mkdir()
        one = power_room.bench(tmp_path / standby)
        one.fleet.standby = standby
        one.down()
        stopped = [node for node, unit in one.fleet.order if unit == "patroni.service"]
        assert stopped[0] == standby
        assert len(stopped) == 2


def test_a_healthy_site_refuses_nothing_and_a_plan_changes_nothing(room):
    before = room.fleet.copy()
    operation = power_room.down(power_room.Down())(room.cluster())
    assert operation.refusals == []
    after = room.fleet.copy()
    assert {k: v for k, v in after.items() if k != "asked"} == {
        k: v for k, v in before.items() if k != "asked"
    }
    titles = [step.name for step in operation.steps]
    assert len(set(titles)) == len(titles)
    assert titles.index("set noout until `avadm power up`") == titles.index("stop OSDs") - 1


def test_runs_refuse_it_with_owner_and_age_and_stop_after_the_notice_where_agreed(room):
    room.platform.add("comp3", "training", "resnet", "zoe")
    with pytest.raises(AvadmError) as error:
        room.down()
    [found] = error.value.findings
    assert (found.check, "resnet of zoe" in found.found, "5 h" in found.found) == ("power-runs", True, True)
    assert room.fleet.order == []
    room.down(stop_runs=True, notice=60, text="1m")
    assert {(n.seconds, n.stop_runs) for n in room.platform.begun.values()} == {(60, True)}
    assert set(room.platform.begun) == {"mast1", "mast2", "mast3", "comp1", "comp2", "comp3"}


def test_runs_that_do_not_leave_end_it_with_everything_undone(room):
    before = room.fleet.marks
    room.platform.add("comp3", "training", "resnet")
    room.platform.stubborn = True
    with pytest.raises(AvadmError) as error:
        room.down(stop_runs=True, notice=0, text="0s")
    assert error.value.exit_code == 1
    assert "resnet" in str(error.value.findings[0].found)
    assert room.fleet.marks == before
    assert room.note is None
    assert [one.command for one in room.state.begun()] == ["avadm power down --notice 0s --stop-runs"]


def test_ava_that_cannot_be_asked_refuses_and_is_left_out_where_accepted(room):
    room.platform.add("comp3", "training", "resnet")
    room.platform.broken = True
    assert refusals(room.down) == ["ava-runs"]
    room.down(accept=["ava-runs"])
    assert room.fleet.stopped == room.fleet.all_units


def test_what_would_be_lost_or_is_unhealthy_is_refused_in_one_pass(room):
    room.fleet.without.add("shop/b")
    room.fleet.down.add(0)
    room.fleet.dead.add("comp3")
    ids = ["power-silent", "groups-unclean", "pods-without-controller"]
    assert refusals(room.down) == ids
    for one in ids:
        assert refusals(room.down, accept=[other for other in ids if other != one]) == [one]
    assert room.fleet.order == []
    room.down(accept=ids)
    assert room.note.without == ("comp3",)
    assert {node for node, _ in room.fleet.all_units - room.fleet.stopped} == {"comp3"}


def test_a_maintenance_refuses_it_whatever_is_accepted(room):
    note = maintenance.Maintenance("stor1", ("stor1",), "disk", "me@here", 1.0, 2.0).note
    room.state.keep_note("maintenance stor1", note)
    assert refusals(room.down) == ["power-maintenance"]
    assert refusals(room.down, accept=["power-maintenance"]) == ["accept-unknown"]


def test_without_kubernetes_or_monitors_it_refuses_before_anything_is_changed(room):
    room.fleet.stopped |= {(n, "kube-apiserver.service") for n in room.fleet.names("master")}
    room.fleet.stopped |= {("stor1", "ceph-mon@stor1.service"), ("stor2", "ceph-mon@stor2.service")}
    found = refusals(room.down)
    assert {"ceph-command", "kubernetes-master"} == set(found)
    assert room.fleet.order == []


def test_other_commands_are_refused_and_name_what_starts_the_site(room):
    room.down()
    for command in ("", "avadm upgrade etcd", "avadm power-tool x"):
        [found] = runner.half_done(room.state, {"etcd"}, command)
        assert (found.check, "avadm power up" in found.remedy) == ("powered-down", True)
    assert runner.half_done(room.state, {"etcd"}, "avadm power up") == []
    assert refusals(room.down) == ["power-already"]


def test_another_operation_that_is_half_done_refuses_it(room):
    from avadm.state.operations import OperationRecord

    room.state.keep_operation(OperationRecord("avadm upgrade etcd", "upgrade", ("etcd",), 1.0, "me"))
    assert refusals(room.down) == ["operation-half-done"]


def test_a_mount_in_use_is_kept_and_what_uses_it_named(room):
    room.fleet.holders["comp2"] = ["bash (process 7) uses /cephfs"]
    with pytest.raises(AvadmError) as error:
        room.down()
    assert "bash (process 7)" in error.value.findings[0].found
    assert room.fleet.cephfs == {"comp2"}
    assert len(room.fleet.alive("mds")) == 3
    # On its way down nothing is undone.
    assert room.fleet.cordoned == {"mast1", "mast2", "mast3", "comp1", "comp2", "comp3"}
    assert room.note.state is PowerState.STOPPING
    room.fleet.holders.clear()
    room.down()
    assert room.fleet.stopped == room.fleet.all_units


def test_a_stage_that_does_not_stop_keeps_the_next_one_running(room, monkeypatch):
    plain = room.fleet._power_units

    def stays(node, asked):
        found = plain(node, asked)
        if node == "stor2" and "ceph-osd@*.service" in asked["units"]:
            room.fleet.stopped.discard((node, "ceph-osd@2.service"))
            found["running"] = {"ceph-osd@2.service": "deactivating"}
        return found

    monkeypatch.setattr(room.fleet, "_power_units", stays)
    assert refusals(room.down, code=1) == ["gate-closed"]
    assert len(room.fleet.alive("mon")) == 3
    monkeypatch.undo()
    monkeypatch.setattr(power_room.SiteState, "_save", power_room.SiteState._save)
    room.down()
    assert room.fleet.stopped == room.fleet.all_units


@pytest.mark.parametrize(
    "name", ["power.units stop", "power.units look", "power.containers", "power.storage", "power.fsid"]
)
def test_a_node_that_cannot_do_its_part_never_counts_as_stopped(room, name):
    room.fleet.broken.add(name)
    with pytest.raises(AvadmError):
        room.down()
    assert len(room.fleet.alive("mon")) == 3
    assert len(room.fleet.alive("osd")) == 3
    room.fleet.broken.clear()
    room.down()
    assert room.fleet.stopped == room.fleet.all_units


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_anywhere_is_continued_by_the_same_command(room, tmp_path, every):
    room.platform.add("comp3", "training", "resnet")
    held = kills(room, lambda: room.down(stop_runs=True))
    wanted = room.fleet.marks[:2] + room.fleet.marks[3:]
    assert len(held) > 120
    for number, one in list(enumerate(held))[::every]:
        again = killed(room, tmp_path, number, one)
        again.platform.kinds = {"resnet": ("training", "ann")}
        if again.note is not None and again.note.state is PowerState.DOWN:
            continue
        again.down(stop_runs=True)
        assert again.fleet.marks[:2] + again.fleet.marks[3:] == wanted, number
        assert len(again.fleet.silences) == 1, number
        assert again.state.begun() == [], number


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_anywhere_can_be_gone_back_from(room, tmp_path, every):
    before = room.fleet.marks
    held = kills(room, room.down)
    for number, one in list(enumerate(held))[::every]:
        again = killed(room, tmp_path, number, one)
        again.up()
        assert again.fleet.marks == before, number
        assert again.note is None
        assert again.state.begun() == again.state.settings() == [], number


def test_what_others_had_cordoned_and_set_stays(room):
    room.fleet.cordoned.add("comp2")
    room.fleet.site_noout = True
    room.down()
    room.up()
    assert room.fleet.cordoned == {"comp2"}
    assert room.fleet.site_noout


def test_poweroff_switches_all_off_but_that_of_avadm_and_those_with_the_lock_last(room):
    room.fleet.own = "comp1"
    room.down(poweroff=True)
    soon = [node for node, seconds in room.fleet.off if seconds < 60]
    late = [node for node, seconds in room.fleet.off if seconds >= 60]
    assert set(soon) == {"mast1", "mast2", "mast3", "comp2", "comp3"}
    assert late == ["stor1", "stor2", "stor3"]
    assert room.fleet.off[-3:] == [(n, 60) for n in late]
    assert room.note.off


def test_a_site_that_is_down_already_can_be_switched_off_later(room):
    room.down()
    order = list(room.fleet.order)
    room.down(poweroff=True)
    assert room.fleet.order == order
    assert len(room.fleet.off) == 9


def test_a_kill_while_nodes_are_switched_off_is_continued(room, tmp_path):
    held = kills(room, lambda: room.down(poweroff=True))
    ends = [i for i, (fleet, _) in enumerate(held) if fleet["off"]]
    assert ends
    for number in ends:
        again = killed(room, tmp_path, number, held[number])
        if not again.state.begun():
            continue
        again.down(poweroff=True)
        assert {node for node, _ in again.fleet.off} == {n.name for n in again.fleet.site.nodes}, number


def test_the_command_that_continues_it_has_all_its_options(room):
    asked = power_room.Down(3600, "1h", True, True, frozenset(), 600.0, "root")
    assert asked.command == "avadm power down --notice 1h --stop-runs --poweroff --as root"


def test_each_stage_with_nodes_has_its_step(room):
    operation = power_room.down(power_room.Down())(room.cluster())
    titles = " ".join(step.name for step in operation.steps)
    nodes = power_room.PowerNodes(room.cluster())
    for stage in Stage:
        assert (stage.value in titles) == bool(nodes.of(stage)), stage


def test_records_survive_as_json(room):
    room.down()
    again = power_room.SiteState(room.state.path, "demo")
    assert json.dumps(again.notes()) == json.dumps(room.state.notes())
