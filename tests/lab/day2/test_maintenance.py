"""`avadm maintenance` on the lab: under checksummed work, on dead nodes, refused, killed, overdue; nothing is left of it."""

import json
import shlex
import time
from contextlib import ExitStack

import pytest

from tests.controls.day_two import CUT_OFF, KILLED_AT_RANDOM, KILLED_AT_STEPS, UNINTERRUPTED
from tests.lab import prometheus
from tests.lab.day2.interruptions import cut_at, killed, moments, powered_off
from tests.lab.day2.test_upgrade import ONE_HOME
from tests.lab.faults.drive import avadm, healthy, switch_on
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

CTL = "kubectl --kubeconfig /root/.kube/config"
FILES = "/var/lib/prometheus/node-exporter/avadm-maintenance-*.prom"
NOTHING = {"noout": {}, "cordoned": set(), "silences": [], "files": {}}


def begin(*words, reason="a test", long="1h"):
    return ["maintenance", "begin", *words, "--for", long, "--reason", reason, "--yes"]


def good(*words, timeout=1500):
    """Run avadm; return its output; a failure fails the test."""
    done = avadm(*words, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def marks(lab):
    """Return what maintenances set on the lab."""
    # The last nodes are those that the tests switch off.
    mon, router = lab.names("mon")[0], lab.names("alertmanager")[0]
    flags = json.loads(lab.sh(mon, "ceph osd dump -f json"))["crush_node_flags"]
    silences = json.loads(lab.sh(router, "amtool silence query -o json") or "[]") or []
    files = {n["name"]: lab.run(n["name"], f"ls {FILES} 2>/dev/null").stdout.split() for n in lab.nodes}
    nodes = []
    if masters := lab.names("master"):
        nodes = json.loads(lab.sh(masters[-1], f"{CTL} get nodes -o json"))["items"]
    return {
        "noout": {host: held for host, held in flags.items() if held},
        "cordoned": {n["metadata"]["name"] for n in nodes if n["spec"].get("unschedulable")},
        "silences": [s["comment"] for s in silences if s["comment"].startswith("avadm ")],
        "files": {name: found for name, found in files.items() if found},
    }


@pytest.fixture
def clean(lab):
    """The lab without maintenances, before and after."""
    healthy(lab)
    assert marks(lab) == NOTHING
    yield lab
    switch_on(lab)
    listed = json.loads(avadm("maintenance", "list", "--json").stdout)["maintenances"]
    for one in listed:
        avadm("maintenance", "end", one["name"], "--yes", timeout=1500)


def test_a_storage_node_is_switched_off_in_its_maintenance_under_load(clean, loads, recorder, tried):
    lab, node = clean, clean.names("osd")[-1]
    at_work = loads(away=[node])
    recorder.skip_if_done("maintenance begin", UNINTERRUPTED, at_work)
    row = tried(
        "maintenance", f"{node} in maintenance, off and on again, under load", "no error, nothing lost"
    )
    with ExitStack() as stack:
        with recorder.under("maintenance begin", UNINTERRUPTED, at_work):
            good(*begin(node))
            assert marks(lab)["noout"] == {node: ["noout"]}
            assert marks(lab)["silences"] == [f"avadm {node}: a test"]
            stack.enter_context(powered_off(lab, node, shut_down=True))
            time.sleep(20)
        with recorder.under("maintenance end", UNINTERRUPTED, loads(away=[node])):
            stack.close()
            good("maintenance", "end", node, "--yes")
    assert marks(lab) == NOTHING
    row.came = f"no error, nothing lost; HEALTH_OK after {healthy(lab):.0f} s"


def test_a_begin_that_is_cut_off_from_the_nodes_is_continued(clean, loads, recorder):
    lab, node = clean, clean.names("osd")[-1]
    at_work = loads("SKQ")
    recorder.skip_if_done("maintenance begin", CUT_OFF, at_work)
    with recorder.under("maintenance begin", CUT_OFF, at_work):
        status, text = cut_at(lab, begin(node), 1)
        assert status in (0, 1) and "Traceback" not in text, text
        if status:
            good(*begin(node))
        good("maintenance", "end", node, "--yes")
    assert marks(lab) == NOTHING


def test_a_worker_is_drained_and_takes_pods_again_after_the_end(clean):
    lab, node = clean, clean.names("worker")[-1]
    good(*begin(node))
    assert marks(lab)["cordoned"] == {node}
    master = lab.names("master")[0]
    pods = json.loads(lab.sh(master, f"{CTL} get pods --all-namespaces -o json"))["items"]
    left = [p for p in pods if p["spec"].get("nodeName") == node]
    kinds = {o["kind"] for p in left for o in p["metadata"].get("ownerReferences", [])}
    assert kinds <= {"DaemonSet"}
    good("maintenance", "end", node, "--yes")
    assert marks(lab) == NOTHING


def test_a_second_begin_is_refused_and_a_second_end_too(clean):
    lab, node = clean, clean.names("osd")[-1]
    good(*begin(node))
    before = marks(lab)
    for words in (begin(node), begin(node, long="2h")):
        done = avadm(*words)
        assert (done.returncode, "in a maintenance already" in done.stderr) == (2, True), done.stderr
    assert marks(lab) == before
    good("maintenance", "end", node, "--yes")
    assert avadm("maintenance", "end", node, "--yes").returncode == 2


@pytest.mark.parametrize("role", ["osd", "worker"])
def test_a_node_that_is_dead_already(clean, role):
    lab, node = clean, clean.names(role)[-1]
    with powered_off(lab, node):
        if role == "worker":
            shown = f"{CTL} get node {node} -o jsonpath='{{.status.conditions[?(@.type==\"Ready\")].status}}'"
            until(lambda: lab.sh(lab.names("master")[0], shown).strip() == "Unknown", 180)
        good(*begin(node))
        found = marks(lab)
        assert node in (found["cordoned"] if role == "worker" else found["noout"])
        done = avadm("maintenance", "end", node, "--yes")
        assert (done.returncode, "not-back" in done.stderr) == (2, True), done.stderr
    good("maintenance", "end", node, "--yes")
    assert marks(lab) == NOTHING


def test_refused_in_one_pass_with_nothing_changed(clean):
    lab = clean
    two = lab.names("mon")[:2]
    for words, ids in (
        (begin(*two, "none1", long="0s"), ["unknown-node", "maintenance-time", "mon-quorum", "pools-stop"]),
        (begin(*two), ["mon-quorum", "pools-stop"]),
        (begin(two[0], long="0s"), ["maintenance-time"]),
        (begin(two[0], reason=" "), ["maintenance-reason"]),
        (begin("--rack", "none"), ["unknown-rack"]),
        ([*begin(two[0]), "--accept", "all"], ["No refusal of this verb has that id"]),
        (begin(*lab.names("ingress")), ["virtual-address-lost"] if lab.names("ingress") else []),
    ):
        if not ids:
            continue
        done = avadm(*words, "--dry-run", "--json")
        shown = done.stdout + done.stderr
        assert done.returncode == 2, shown
        for one in ids:
            assert one in shown, shown
    assert marks(lab) == NOTHING


def test_the_plan_of_a_healthy_node_has_no_refusal(clean):
    lab = clean
    single = set(lab.names("master")) if len(lab.names("master")) == 1 else set()
    for node in (n["name"] for n in lab.nodes if n["name"] not in single):
        # One worker alone may be without GPUs, which then is the only home of AVA.
        done = avadm(*begin(node), "--dry-run", "--json", *ONE_HOME)
        assert (done.returncode, json.loads(done.stdout)["refused"]) == (0, []), done.stdout
    assert marks(lab) == NOTHING


@pytest.mark.parametrize("at", [KILLED_AT_STEPS, KILLED_AT_RANDOM])
def test_killed_the_same_command_continues(clean, loads, recorder, at):
    lab = clean
    # A worker is drained, which waits for trainings of AVA: their load is for the drain's own tests.
    at_work = loads("SKQ")
    recorder.skip_if_done("maintenance begin", at, at_work)
    nodes = [lab.names("osd")[-1], *lab.names("worker")[-1:]]
    words, ending = begin(*nodes), ["maintenance", "end", *nodes, "--yes"]
    began = time.monotonic()
    good(*words)
    whole = time.monotonic() - began
    wanted = marks(lab)
    began = time.monotonic()
    good(*ending)
    ends = time.monotonic() - began
    steps = range(1, 4 if len(nodes) > 1 else 3)
    kills = steps if at == KILLED_AT_STEPS else moments(whole)
    with recorder.under("maintenance begin", at, at_work):
        for kill, end in zip(kills, moments(ends, len(kills)), strict=True):
            killed(words, kill)
            done = avadm(*words, timeout=1500)
            assert done.returncode == 0 or "maintenance-twice" in done.stderr, done.stdout + done.stderr
            found = marks(lab)
            assert {**found, "files": set(found["files"])} == {**wanted, "files": set(wanted["files"])}, kill
            killed(ending, end)
            done = avadm(*ending, timeout=1500)
            assert done.returncode == 0 or "maintenance-unknown" in done.stderr, done.stdout + done.stderr
            # What a kill left of the last step is undone by the next command that changes the site.
            assert avadm("status", "--json").returncode == 0
            assert marks(lab) == NOTHING, kill


def test_what_others_had_set_stays(clean):
    lab, node = clean, clean.names("osd")[-1]
    mon = lab.names("mon")[0]
    lab.sh(mon, f"ceph osd set-group noout {shlex.quote(node)}")
    try:
        good(*begin(node))
        good("maintenance", "end", node, "--yes")
        assert marks(lab)["noout"] == {node: ["noout"]}
    finally:
        lab.sh(mon, f"ceph osd unset-group noout {shlex.quote(node)}")
    assert marks(lab) == NOTHING


def test_past_its_end_it_is_listed_as_overdue_and_alerts(clean):
    lab, node = clean, clean.names("osd")[-1]
    server = lab.names("prometheus")[0]
    firing = f'ALERTS{{alertname="MaintenanceOverdue",alertstate="firing",maintenance="{node}"}}'
    good(*begin(node, long="60s"))
    time.sleep(61)
    done = avadm("maintenance", "list", "--json")
    assert done.returncode == 1
    assert [m["overdue"] for m in json.loads(done.stdout)["maintenances"]] == [True]
    done = avadm("doctor", "--only", "operations", "--json", timeout=300)
    assert [row["status"] for row in json.loads(done.stdout)["checks"] if row["id"] == "operations"] == [
        "bad"
    ]
    until(lambda: prometheus.query(lab, server, firing), 300, 5)
    good("maintenance", "end", node, "--yes")
    until(lambda: not prometheus.query(lab, server, firing), 420, 5)
    assert marks(lab) == NOTHING
