"""`avadm upgrade ceph`: its order, what each step waits for, what is set and undone, and where it is continued."""

import pytest

from avadm.errors import AvadmError
from avadm.operations.run import Settings, half_done
from avadm.site.load import load
from tests.unit.operations.ceph_room import NEW, OLD, SITE, STORAGE, TO, CephRoom, Killed, failure


@pytest.fixture
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site.yml").write_text(SITE)
    return CephRoom(tmp_path / "site.yml")


def restarts(room, kind=""):
    return [e.split()[1] for e in room.events if e.startswith(f"restart {kind}")]


def test_the_order_is_monitors_managers_osds_metadata_servers_clients(room):
    room.run()
    assert restarts(room) == [
        *("mon.s1", "mon.s2", "mon.s3"),
        *("mgr.s2", "mgr.s3", "mgr.s1"),
        *("osd.0", "osd.1", "osd.2", "osd.3", "osd.4", "osd.5"),
        *("mds.s3", "mds.s2", "mds.s1"),
    ]
    last = [e for e in room.events if not e.startswith("restart")][3:]
    assert last[:-1] == ["drain w1", "install w1", "remount w1", "drain w2", "install w2", "remount w2"]
    assert last[-1].startswith("apply ")
    assert set(room.ceph.running.values()) == {NEW}


def test_the_packages_of_a_node_come_once_with_its_first_step(room):
    room.run()
    installs = [e for e in room.events if e.startswith("install")]
    assert installs == [f"install {n}" for n in (*STORAGE, "w1", "w2")]
    assert room.events[:2] == ["install s1", "restart mon.s1"]


def test_the_site_file_names_the_profile_of_ceph(room):
    room.run()
    assert load(room.path).site.component_profiles == {"ceph": TO}
    assert load(room.path).profile.versions["ceph"] == "18.2."


def test_the_release_is_required_and_the_messenger_enabled_at_the_end(room):
    room.ceph.v2 = False
    room.run()
    assert [w for w in room.ceph.words if not w.startswith("fs")] == ["require reef", "mon enable-msgr2"]
    room.reload()
    room.ceph.words.clear()
    room.run()
    assert room.ceph.words == [], "what is so already is not set again"


def test_a_second_run_changes_nothing(room):
    room.run()
    room.reload()
    room.events.clear()
    text = room.path.read_text()
    room.run()
    assert (room.events, room.path.read_text()) == ([], text)


def test_ranks_and_followers_are_recorded_reduced_and_restored(room):
    room.run()
    assert room.ceph.words[:2] == ["fs set allow_standby_replay false", "fs set max_mds 1"]
    assert (room.ceph.max_mds, room.ceph.replay) == (2, True)
    assert room.ceph.noout == set() and room.cordoned == set() and room.state.settings() == []


def test_a_file_system_of_one_rank_without_followers_is_left_as_it_is(room):
    room.ceph.max_mds, room.ceph.replay = 1, False
    room.run()
    assert [w for w in room.ceph.words if w.startswith("fs")] == []


def test_the_plan_names_packages_interruptions_and_that_nothing_can_go_back(room):
    plan = room.plan()
    assert plan.components >= {"base", "ceph", "cephfs"}
    assert "s1: ceph-mon 16.2.15+ds-0 → 18.2.*" in plan.packages
    more = next(line for line in plan.packages if line.startswith("s1: up to"))
    assert all(name in more for name in ("libc6", "python3", "openssh-server", "apt"))
    assert not any(line.startswith("m1") for line in plan.packages), "it has nothing of ceph"
    upgrades = [s for s in plan.steps if s.name.startswith("upgrade")]
    assert len(upgrades) == 3 + 3 + 3 + 3 + 2
    assert all(s.name.endswith("no rollback") and s.undo is None for s in upgrades)
    assert any("drained" in i.what for i in plan.interrupts)
    assert room.events == [] and room.ceph.words == []


ALL = [
    *(f"install {n}" for n in (*STORAGE, "w1", "w2")),
    *(f"restart {kind}.{n}" for kind in ("mon", "mgr", "mds") for n in STORAGE),
    *(f"restart osd.{i}" for i in range(6)),
    *("drain w1", "remount w1", "drain w2", "remount w2"),
    "apply s1,s2,s3,w1,w2",
]


@pytest.mark.parametrize("event", ALL)
def test_killed_anywhere_it_is_continued_and_leaves_no_setting(room, event, monkeypatch):
    # kill -9: what undoes settings at the end does not run either.
    with monkeypatch.context() as patched:
        patched.setattr(Settings, "release", lambda self, records: [])
        room.killed_at = event
        with pytest.raises(Killed):
            room.run()
    done = list(room.events)
    room.reload()
    assert room.refused() == []
    command = f"avadm upgrade ceph --to {TO}"
    assert [f.check for f in half_done(room.state, {"ceph"}, "avadm apply")] == ["operation-half-done"]
    assert room.plan().command == command
    room.run()
    again = [e for e in room.events[len(done) :] if e in done]
    assert not [e for e in again if e.startswith(("restart", "install"))], "finished steps are not repeated"
    assert set(room.ceph.running.values()) == {NEW} and set(room.mounted.values()) == {NEW}
    assert (room.ceph.max_mds, room.ceph.replay, room.ceph.noout, room.cordoned) == (2, True, set(), set())
    assert room.state.settings() == [] and room.state.begun() == []


def stops(room, where, what, *, undo):
    """Have something not come back after the restart of a daemon; return what the run ends with."""

    def after(unit):
        if unit == where:
            what()

    room.after_restart = after
    found = failure(room)
    room.after_restart = lambda unit: None
    undo()
    return found


def test_a_monitor_that_does_not_join_holds_up_the_rest(room):
    found = stops(room, "mon.s2", lambda: room.ceph.outside.add("s2"), undo=room.ceph.outside.clear)
    assert found == [("gate-closed", "not in quorum: s2")]
    assert restarts(room) == ["mon.s1", "mon.s2"]
    room.reload()
    room.run()
    assert restarts(room, "mon") == ["mon.s1", "mon.s2", "mon.s3"]


def test_a_daemon_that_runs_the_old_version_on_is_named(room):
    found = stops(room, "mgr.s2", lambda: room.ceph.running.update({"mgr.s2": OLD}), undo=lambda: None)
    assert found == [("gate-closed", f"mgr.s2 runs {OLD}")]


def test_an_osd_that_does_not_come_up_is_named_and_its_host_is_no_longer_kept_in(room):
    found = stops(room, "osd.1", lambda: room.ceph.down.add(1), undo=room.ceph.down.clear)
    assert found == [("gate-closed", "osd.1 is down")]
    assert room.ceph.noout == set() and restarts(room, "osd") == ["osd.0", "osd.1"]


def test_placement_groups_that_recover_hold_up_the_next_host_scrubbing_ones_do_not(room):
    room.ceph.states = {"active+clean+scrubbing": 62}
    moving = {"active+clean": 60, "active+undersized+degraded": 2}
    found = stops(
        room,
        "osd.1",
        lambda: room.ceph.__dict__.update(states=moving),
        undo=lambda: room.ceph.__dict__.update(states={"active+clean": 62}),
    )
    assert found == [("gate-closed", "2 placement groups are active+undersized+degraded")]
    assert restarts(room, "osd") == ["osd.0", "osd.1"]


def test_a_host_whose_osds_may_not_stop_is_not_touched(room):
    room.after_restart = lambda unit: setattr(
        room.ceph, "no", "2 PGs would go inactive" if unit == "osd.1" else ""
    )
    assert failure(room) == [("pools-stop", "2 PGs would go inactive")]
    assert restarts(room, "osd") == ["osd.0", "osd.1"] and room.ceph.noout == set()


def test_a_mount_in_use_is_never_taken_away(room):
    room.users = {"w2": ["process 4711 (vim)"]}
    assert failure(room) == [("upgrade-mount-in-use", "process 4711 (vim)")]
    assert "remount w2" not in room.events and "install w2" not in room.events
    assert room.cordoned == set(), "its pods may come back"
    assert room.ceph.required == "pacific"
    room.users.clear()
    room.reload()
    room.run()
    assert room.mounted["w2"] == NEW


def test_a_file_system_that_does_not_respond_afterwards_holds_it_up(room):
    room.unmounted["w1"] = "/mnt/cephfs does not respond"
    assert failure(room) == [("gate-closed", "/mnt/cephfs does not respond")]
    assert "drain w2" not in room.events


def test_a_client_that_is_still_the_old_one_is_found_before_the_phases_run(room):
    room.run()
    room.reload()
    room.mounted["w1"] = OLD
    with pytest.raises(AssertionError):
        failure(room)
    assert room.events[-1] == "remount w1", "it is remounted, as the first time"


def test_a_cluster_that_does_not_answer_is_refused(room):
    room.ceph.silent = "[errno 110] RADOS timed out"
    assert room.refused() == ["ceph-command"]


def test_a_step_that_is_begun_while_another_monitor_is_away_is_refused(room):
    step = next(s for s in room.plan().steps if s.name.startswith("upgrade the monitor on s2"))
    room.ceph.outside.add("s3")
    with pytest.raises(AvadmError) as error:
        step.act(lambda line: None)
    assert [f.check for f in error.value.findings] == ["mon-quorum"]
    assert restarts(room) == []
