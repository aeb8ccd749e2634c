"""avadm_ceph_wait: what counts as in the quorum, as healthy, and as hopeless."""

import json

import pytest
from ansible.module_utils.avadm_ceph import CephError, wait
from avadm_ceph_wait import NEEDS, PAUSED, Health, Quorum, keep_standing, left_standing
from fake_ceph import FakeCeph

from avadm_node.probes.drift import cluster
from tests.unit.fakes.clock import Clock

STATUS = {
    "health": {"status": "HEALTH_OK", "checks": {}},
    "osdmap": {"num_up_osds": 3, "num_in_osds": 3},
    "mgrmap": {"available": True},
    "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 64}]},
}


def asked(tolerate=(), osds=3, stood=(), **changes):
    """Return what was judged, and what is missing."""
    judged = Health(FakeCeph({"status": {**STATUS, **changes}}), tolerate, osds, stood)
    return judged, judged()


def health(*args, **changes):
    return asked(*args, **changes)[1]


def warning(code, **more):
    return {"health": {"checks": {code: {"summary": {"message": "text"}, **more}}}}


def test_a_healthy_cluster_misses_nothing():
    assert health() is None


def test_releases_before_15_wrap_the_osd_map():
    assert health(osdmap={"osdmap": STATUS["osdmap"]}) is None


def test_each_reason_is_named():
    missing = health(
        osds=4,
        mgrmap={"available": False},
        pgmap={"pgs_by_state": [{"state_name": "peering", "count": 5}]},
        **warning("OSD_DOWN"),
    )
    assert missing == (
        "no manager is active; 3 of 4 OSDs are up and in; 5 placement groups are peering; OSD_DOWN (text)"
    )


def test_data_that_move_to_new_osds_are_no_trouble_and_data_that_are_lacking_are():
    """13.2 warns of both, of the first for as long as it takes to fill the new OSDs."""
    states = {"pgs_by_state": [{"state_name": "active+remapped+backfilling", "count": 5}]}
    assert health(pgmap=states, **warning("OBJECT_MISPLACED")) is None
    assert health(**warning("PG_DEGRADED")) == "PG_DEGRADED (text)"


def test_a_tolerated_warning_may_stand():
    assert health(["OSD_NEARFULL"], **warning("OSD_NEARFULL")) is None


@pytest.mark.parametrize(
    ("flags", "stops", "warns"),
    [
        ("noscrub,nodeep-scrub", False, False),
        ("nodeep-scrub", False, False),
        ("noout,noscrub", False, True),
        ("pauserd,pausewr", True, False),
        ("noin", True, False),
    ],
)
def test_flags_stop_a_phase_where_osds_serve_nothing(flags, stops, warns):
    check = {"OSDMAP_FLAGS": {"summary": {"message": f"{flags} flag(s) set"}}}
    judged, missing = asked(health={"checks": check})
    assert (bool(missing), bool(judged.warnings)) == (stops, warns)


def test_a_muted_warning_is_named_and_stops_nothing():
    checks = warning("POOL_NO_REDUNDANCY", muted=True)["health"]
    judged, missing = asked(health={**checks, "mutes": [{"code": "POOL_NO_REDUNDANCY"}]})
    assert missing is None
    assert judged.warnings == [("POOL_NO_REDUNDANCY", "is muted")]


@pytest.mark.parametrize("code", ["MON_DISK_LOW", "OSD_NEARFULL", "RECENT_CRASH", "SOMETHING_NEW"])
def test_what_no_phase_can_fix_is_a_warning_only(code):
    judged, missing = asked(**warning(code))
    assert missing is None
    assert judged.warnings == [(code, "text")]


def test_what_a_phase_brings_is_waited_for_but_not_needed():
    judged, missing = asked(**warning("PG_DEGRADED"))
    assert missing == "PG_DEGRADED (text)"
    assert judged.lacking == []
    judged, missing = asked(stood=["PG_DEGRADED"], **warning("PG_DEGRADED"))
    assert missing is None
    assert judged.warnings == [("PG_DEGRADED", "text")]


def test_without_an_active_metadata_server_no_phase_goes_on():
    judged, missing = asked(stood=["MDS_ALL_DOWN"], **warning("MDS_ALL_DOWN"))
    assert judged.lacking == [missing] == ["MDS_ALL_DOWN (text)"]


def test_what_stands_is_kept_for_the_next_wait(tmp_path):
    path = str(tmp_path / "run/warnings.json")
    assert left_standing(path) == []
    keep_standing(path, ["PG_DEGRADED", "MON_DISK_LOW"])
    assert left_standing(path) == ["MON_DISK_LOW", "PG_DEGRADED"]
    for text in ("", "{}", "{", "[1"):
        (tmp_path / "run/warnings.json").write_text(text)
        assert left_standing(path) == []
    keep_standing("/proc/none/warnings.json", ["X"])


def quorum(rank, members, fsid="F", state="peon"):
    status = {
        "rank": rank,
        "state": state,
        "quorum": members,
        "monmap": {"fsid": "F", "mons": [{"name": n, "rank": i} for i, n in enumerate("abc")]},
    }
    return Quorum(lambda argv, data: (0, json.dumps(status), ""), "a", fsid)


def test_a_monitor_in_the_quorum_names_who_is_not():
    until = quorum(0, [0, 2])
    assert until() is None
    assert until.missing == ["b"]


def test_without_quorum_all_who_are_missing_are_named():
    assert quorum(0, [], state="probing")() == "monitor a is probing; not in the quorum: a, b, c"


def test_a_monitor_of_another_cluster_is_an_error():
    with pytest.raises(CephError, match="found fsid F, wanted G"):
        quorum(0, [0], fsid="G")()


def test_a_silent_socket_is_waited_for():
    until = Quorum(lambda argv, data: (22, "", "No such file"), "a", "F")
    assert "does not answer on its socket: No such file" in until()


@pytest.mark.parametrize(
    ("answers", "settled", "last", "at"),
    [
        (["x", "y", None], 99, None, 2),
        (map(str, range(99)), 5, "10", 10),
        (["disk full"] * 99, 30, "disk full", 30),
    ],
    ids=["all is well", "its limit", "nothing changes any more"],
)
def test_waiting_ends_at(answers, settled, last, at):
    clock, answers = Clock(), iter(answers)
    assert wait(lambda: next(answers), 10 if settled == 5 else 300, settled=settled, clock=clock) == last
    assert clock.now == at


def test_nodes_judge_by_the_same_lists():
    assert (cluster.NEEDED, cluster.PAUSED) == (NEEDS, PAUSED)
