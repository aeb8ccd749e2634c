"""`avadm node replace` and the removal of roles with a quorum, on the lab: under load, killed and continued."""

import json
import signal
import subprocess
import time

import pytest

from avadm.site.load import load
from tests.controls.day_two import UNINTERRUPTED
from tests.lab.conftest import seen
from tests.lab.day2.test_node_add_remove import added, good, having, named
from tests.lab.faults.drive import AVADM, avadm, healthy

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

TIMEOUT_S = 3000


def words_of(name, new, *roles, disks=0):
    """Start a machine and return the words of `node replace` that have it take a node's place."""
    words = added(new, *roles, disks=disks)
    kept, skip = [], False
    for word in words[3:]:
        if skip:
            skip = False
        elif word in ("--role", "--rack"):
            skip = True
        else:
            kept.append(word)
    return ["node", "replace", name, "--name", new, *kept]


def etcd_members(lab):
    found = lab.sh(having(lab, "etcd")[0], "avadm-etcd ctl member list -w json")
    return {one["name"] for one in json.loads(found)["members"]}


def test_a_storage_node_with_a_monitor_is_replaced_under_load(loads, recorder):
    lab = seen()
    name = lab.names("mon")[-1]
    new = next(one for one in ("stor8", "stor7") if one != name)
    at_work = loads(away=[name])
    recorder.skip_if_done("node replace", UNINTERRUPTED, at_work)
    words = words_of(name, new, *load(lab.site_path).site.node(name).roles, disks=2)
    with recorder.under("node replace", UNINTERRUPTED, at_work):
        good(*words)
    good("lab", "remove", name)
    after = seen()
    healthy(after)
    assert new in after.names("mon")
    assert named(after, name) == []
    assert json.loads(good("apply", "--json", "--yes"))["changed"] == 0


@pytest.mark.parametrize("seconds", [5, 30, 90])
def test_a_master_is_replaced_although_the_command_is_killed(seconds):
    lab = seen()
    masters = having(lab, "master")
    if len(masters) < 3:
        pytest.skip("a site of one master cannot replace it")
    name, new = masters[0], next(one for one in ("mast7", "mast8", "mast9") if one not in masters)
    roles = load(lab.site_path).site.node(name).roles
    words = words_of(name, new, *roles)
    running = subprocess.Popen([AVADM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    running.send_signal(signal.SIGKILL)
    running.wait()
    good(*words)
    good("lab", "remove", name)
    after = seen()
    healthy(after)
    assert etcd_members(after) == set(having(after, "etcd"))
    assert name not in etcd_members(after)
    assert named(after, name) == []


def test_a_primary_of_the_database_leaves_without_a_lost_row():
    lab = seen()
    nodes = lab.names("database")
    if len(nodes) < 3:
        pytest.skip("a removal needs a standby that stays")
    listed = lab.sh(nodes[0], "patronictl -c /etc/patroni/config.yml list --format=json")
    primary = next(one["Member"] for one in json.loads(listed) if one["Role"] == "Leader")
    good("node", "remove", primary, "--role", "database", "--yes")
    left = [name for name in nodes if name != primary]
    members = json.loads(lab.sh(left[0], "patronictl -c /etc/patroni/config.yml list --format=json"))
    assert {one["Member"] for one in members} == set(left)
    assert {one["Role"] for one in members} == {"Leader", "Sync Standby"}
    assert lab.run(primary, "systemctl is-active patroni").returncode != 0


def test_a_node_that_was_not_reinstalled_is_refused():
    lab = seen()
    done = avadm("node", "replace", lab.names("mon")[0], "--dry-run", "--json", timeout=TIMEOUT_S)
    assert done.returncode == 2
    assert "node-not-reinstalled" in {one["check"] for one in json.loads(done.stdout)["refused"]}
