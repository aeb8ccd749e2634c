"""Storage continues when a node or a daemon is lost, and nothing that was written is."""

import json
import time
from contextlib import ExitStack

import pytest

from tests.lab.faults.drive import avadm, healthy, reachable
from tests.lab.faults.planting import planted
from tests.lab.faults.work import Work

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.fixture
def work(lab):
    made = []

    def make(seconds):
        made.append(Work(lab, seconds))
        return made[-1]

    yield make
    for w in made:
        w.clean()


def asked(lab, command):
    """Return what ceph answers as JSON on whichever mon node answers."""
    for node in lab.names("mon"):
        done = lab.run(node, f"timeout 20 {command} --format json 2>/dev/null")
        if done.returncode == 0:
            return json.loads(done.stdout)
    raise AssertionError(f"no server answers {command}")


def active_mds(lab):
    """Return the name of the MDS of rank 0, None while there is none."""
    for fs in asked(lab, "ceph fs dump")["filesystems"]:
        for info in fs["mdsmap"]["info"].values():
            if info["rank"] == 0 and info["state"] == "up:active":
                return info["name"]
    return None


def test_an_osd_node_is_lost_under_checksummed_work(lab, tried, work):
    node = lab.names("osd")[-1]
    row = tried(
        "OSD node lost",
        f"{node} loses power under checksummed writing",
        "nothing lost, HEALTH_OK after its return",
    )
    writing = work(40)
    try:
        with writing.running():
            time.sleep(8)
            assert avadm("lab", "power", node, "off").returncode == 0
        down = asked(lab, "ceph osd stat")
        assert down["num_up_osds"] < down["num_osds"]
        while_down = writing.compare()
    finally:
        assert avadm("lab", "power", node, "on").returncode == 0
        reachable(lab, node)
    seconds = healthy(lab)
    assert writing.compare() == while_down
    row.came = (
        f"{while_down}, with the node down and after its return; longest pause {writing.longest_pause():.1f} s; "
        f"HEALTH_OK {seconds:.0f} s after it could be reached"
    )


def stopped(lab, unit, node):
    return planted(
        lab,
        node,
        "stopped",
        f"systemctl stop {unit}",
        f"systemctl reset-failed {unit}; systemctl start {unit}",
    )


def stopped_later(lab, unit, node, writing):
    """Return a context in which a unit was stopped while ``writing`` ran, and is still."""
    stack = ExitStack()
    with stack:
        with writing.running():
            time.sleep(5)
            stack.enter_context(stopped(lab, unit, node))
        return stack.pop_all()


def test_the_active_mds_is_lost(lab, tried, work):
    name = active_mds(lab)
    row = tried(
        "MDS lost",
        f"the active MDS ({name}) is stopped under work",
        "another takes over, no error, nothing lost",
    )
    writing = work(25)
    with stopped_later(lab, f"ceph-mds@{name}", name, writing):
        successor = active_mds(lab)
        assert successor and successor != name
        words = writing.compare()
    row.came = f"{successor} took over; {words}; longest pause {writing.longest_pause():.1f} s"


def test_a_mon_is_lost(lab, tried, work):
    name = asked(lab, "ceph quorum_status")["quorum_leader_name"]
    row = tried(
        "mon lost",
        f"the leading mon ({name}) is stopped under work",
        "the others lead, no error, nothing lost",
    )
    writing = work(15)
    with stopped_later(lab, f"ceph-mon@{name}", name, writing):
        quorum = asked(lab, "ceph quorum_status")["quorum_names"]
        assert name not in quorum and len(quorum) == len(lab.names("mon")) - 1
        words = writing.compare()
    row.came = f"quorum of {', '.join(quorum)}; {words}; longest pause {writing.longest_pause():.1f} s"
