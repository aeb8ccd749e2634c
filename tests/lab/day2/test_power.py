"""`avadm power` on the lab: down and up with files and runs, with nodes that were switched off, in use, refused, killed."""

import json
import random
import subprocess
import time

import pytest

from tests.lab.faults.drive import AVADM, avadm, healthy, reachable, silent, start, switch_on
from tests.lab.faults.work import Work

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

CTL = "kubectl --kubeconfig /root/.kube/config"
TIMEOUT_S = 3600
DOWN = ["power", "down", "--notice", "0s", "--stop-runs", "--yes"]
DAEMONS = "ceph-osd ceph-mon ceph-mds ceph-mgr etcd hyperkube postgres prometheus traefik"


def good(*words):
    """Run avadm; return its output; a failure fails the test."""
    done = avadm(*words, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def marks(lab):
    """Return what powering down sets on the lab."""
    dump = json.loads(lab.sh(lab.names("mon")[-1], "ceph osd dump -f json"))
    silences = json.loads(lab.sh(lab.names("alertmanager")[-1], "amtool silence query -o json") or "[]") or []
    nodes = (
        json.loads(lab.sh(lab.names("master")[-1], f"{CTL} get nodes -o json"))["items"]
        if lab.names("master")
        else []
    )
    return {
        "flags": {"noout", "pause", "nodown"} & set(dump["flags"].split(",")),
        "cordoned": {n["metadata"]["name"] for n in nodes if n["spec"].get("unschedulable")},
        "silences": [s["comment"] for s in silences if s["comment"].startswith("avadm ")],
    }


NOTHING = {"flags": set(), "cordoned": set(), "silences": []}


def running(lab):
    """Return node to the site's daemons that run there."""
    command = f"for one in {DAEMONS}; do pgrep -x $one >/dev/null && echo $one; done; true"
    found = {n["name"]: lab.sh(n["name"], command).split() for n in lab.nodes}
    return {name: names for name, names in found.items() if names}


def mounts(lab):
    """Return node to its mounts of ceph."""
    command = "findmnt -rn -t ceph,fuse.ceph,fuse.ceph-fuse,fuse.rbd-fuse -o TARGET; true"
    found = {n["name"]: lab.sh(n["name"], command).split() for n in lab.nodes}
    return {name: points for name, points in found.items() if points}


def serves(lab):
    """Wait until the lab is as it was, with nothing left and nothing to do."""
    healthy(lab)
    assert marks(lab) == NOTHING
    shown = json.loads(good("status", "--json"))
    assert shown["power"] == shown["operations"] == shown["leftovers"] == []
    plan = json.loads(good("plan", "--json"))
    assert {row["state"] for row in plan["phases"]} == {"done"}, plan["phases"]


@pytest.fixture
def clean(lab):
    """The lab, up before and after."""
    healthy(lab)
    assert marks(lab) == NOTHING
    yield lab
    switch_on(lab)
    if json.loads(avadm("status", "--json").stdout)["power"]:
        avadm("power", "up", "--yes", timeout=TIMEOUT_S)


@pytest.fixture
def work(lab):
    made = Work(lab, 20)
    yield made
    made.clean()


def test_a_healthy_site_refuses_nothing_and_a_dry_run_changes_nothing(clean):
    before = running(clean)
    done = avadm("power", "down", "--stop-runs", "--dry-run", "--json", timeout=600)
    assert (done.returncode, json.loads(done.stdout)["refused"]) == (0, []), done.stdout + done.stderr
    assert running(clean) == before
    assert marks(clean) == NOTHING


def test_daemons_stop_and_start_and_nothing_is_lost(clean, tried, work):
    lab = clean
    row = tried(
        "power", "the site down and up, its machines on", "no daemon left; all files as before; nothing to do"
    )
    with work.running():
        pass
    began = time.monotonic()
    good(*DOWN)
    down = time.monotonic() - began
    assert running(lab) == {}
    assert mounts(lab) == {}
    # Stopped units stay stopped.
    time.sleep(90)
    assert running(lab) == {}
    for words in (
        ["apply"],
        ["maintenance", "begin", lab.names("osd")[0], "--for", "1h", "--reason", "x", "--yes"],
    ):
        done = avadm(*words)
        assert (done.returncode, "powered-down" in done.stderr) == (2, True), done.stderr
    done = avadm("doctor", "--json", timeout=300)
    assert [row["id"] for row in json.loads(done.stdout)["checks"]] == ["operations"]
    assert done.returncode == 1
    assert avadm(*DOWN).returncode == 2
    began = time.monotonic()
    good("power", "up", "--yes")
    up = time.monotonic() - began
    words = work.compare()
    serves(lab)
    row.came = f"{words}; down in {down:.0f} s, up in {up:.0f} s"


def test_machines_that_were_switched_off_and_on_again(clean, tried, work):
    lab = clean
    row = tried(
        "power", "the site down, all machines off and on, and up", "all files as before; nothing to do"
    )
    with work.running():
        pass
    good(*DOWN)
    for node in (n["name"] for n in lab.nodes):
        assert avadm("lab", "power", node, "off").returncode == 0
    done = avadm("power", "up", "--yes", timeout=600)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "powered down since" in avadm("status", "--offline").stdout
    for node in (n["name"] for n in lab.nodes):
        assert avadm("lab", "power", node, "on").returncode == 0
    for node in (n["name"] for n in lab.nodes):
        reachable(lab, node)
    began = time.monotonic()
    good("power", "up", "--yes")
    up = time.monotonic() - began
    words = work.compare()
    serves(lab)
    row.came = f"{words}; up in {up:.0f} s after the machines"


def test_poweroff_switches_the_machines_off(clean):
    lab = clean
    good(*DOWN, "--poweroff")
    until = time.monotonic() + 240
    left = {n["name"] for n in lab.nodes}
    while left and time.monotonic() < until:
        left = {name for name in left if not silent(lab, name)}
        time.sleep(5)
    assert left == set()
    switch_on(lab)
    good("power", "up", "--yes")
    serves(lab)


def test_a_mount_in_use_is_named_and_never_taken_away(clean):
    lab, client = clean, clean.names("client")[-1]
    held = subprocess.Popen(
        [AVADM, "ssh", client, "sudo sh -c 'cd /mnt/cephfs && exec sleep 900'"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        running_down = start(*DOWN)
        text = ""
        while "waiting until nothing of ceph is mounted" not in text and (
            line := running_down.stdout.readline()
        ):
            text += line
        assert client in text
        assert "sleep" in text
        assert lab.names("mds")
        assert mounts(lab)[client]
    finally:
        lab.run(client, "pkill -x -f 'sleep 900'")
        held.terminate()
        held.wait(30)
    running_down.communicate(timeout=TIMEOUT_S)
    assert running_down.returncode == 0
    good("power", "up", "--yes")
    serves(lab)


def test_killed_at_random_the_same_command_continues_or_goes_back(clean, capsys):
    lab = clean
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f"\nseed of the kills: {seed}")
    rng = random.Random(seed)  # noqa: S311  no key is made from it
    began = time.monotonic()
    good(*DOWN)
    whole = time.monotonic() - began
    good("power", "up", "--yes")
    for back in (False, True, False):
        running_down = start(*DOWN)
        time.sleep(rng.uniform(1, whole))
        running_down.kill()
        running_down.communicate()
        if not back:
            done = avadm(*DOWN, timeout=TIMEOUT_S)
            assert done.returncode == 0 or "power-already" in done.stderr, done.stdout + done.stderr
            assert running(lab) == {}
        running_up = start("power", "up", "--yes")
        time.sleep(rng.uniform(1, whole))
        running_up.kill()
        running_up.communicate()
        good("power", "up", "--yes")
        serves(lab)


def test_refused_in_one_pass_with_nothing_changed(clean):
    lab, node = clean, clean.names("osd")[-1]
    before = running(lab)
    good("maintenance", "begin", node, "--for", "1h", "--reason", "a test", "--yes")
    try:
        done = avadm(*DOWN)
        assert (done.returncode, "power-maintenance" in done.stderr) == (2, True), done.stderr
    finally:
        good("maintenance", "end", node, "--yes")
    done = avadm(*DOWN, "--accept", "all")
    assert (done.returncode, "accept-unknown" in done.stderr) == (2, True), done.stderr
    assert running(lab) == before
