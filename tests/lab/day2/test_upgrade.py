"""`avadm upgrade` on the lab: refused, under load, killed and continued, failed and taken back. It leaves the newer profile."""

import json
import time

import pytest

from avadm.site.load import load
from tests.controls.day_two import GOALS_S, KILLED_AT_STEPS
from tests.lab.day2.interruptions import killed
from tests.lab.faults.drive import avadm, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2, pytest.mark.usefixtures("marks")]

NEWER = "lab-bookworm-newer"
ASKS_THE_API = {"api", "submit", "training", "ssh"}
"""Clients of loads that ask the API of Kubernetes, whose answers wait for etcd."""
TIMEOUT_S = 3000
PACKAGES = "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\\n' | grep ^ii"


def packages(lab, node):
    """Return the installed packages of a node with their versions."""
    return dict(line.split()[1:3] for line in lab.sh(node, PACKAGES).splitlines())


def differing(before, after):
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


ONE_HOME = ("--accept", "pods-nowhere")
"""AVA's pods fit one worker of the lab alone, whose drain takes AVA away for a while."""


def good(*argv):
    done = avadm(*argv, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def etcd_versions(lab):
    reply = json.loads(lab.sh(lab.names("etcd")[0], "avadm-etcd ctl endpoint status --cluster -w json"))
    return {one["Status"]["version"].rpartition(".")[0] for one in reply}


@pytest.fixture(scope="module")
def needs_etcd(lab):
    if not lab.names("etcd") or load(lab.site_path).site.profile != "lab-bookworm":
        pytest.skip("this lab has no etcd of the profile lab-bookworm")


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["etdc", "grafana", "--to", NEWER], {"component-not-supported"}),
        (["etcd", "--to", "lab-nowhere"], {"unknown-profile"}),
        (["etcd", "--to", "lab-bullseye"], {"upgrade-profile-differs", "upgrade-downgrade"}),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(lab, needs_etcd, words, codes):
    done = avadm("upgrade", *words, "--dry-run", "--json")
    assert done.returncode == 2, done.stdout + done.stderr
    assert {f["check"] for f in json.loads(done.stdout)["refused"]} == codes
    assert etcd_versions(lab) == {"3.4"}


def test_an_upgrade_that_was_killed_is_given_up(lab, needs_etcd, tried):
    row = tried("upgrade given up", "killed after etcd's snapshot", "abandoned by consent; nothing is left")
    # The second step begins when the snapshot is there.
    killed(["upgrade", "etcd", "--to", NEWER, "--yes"], 2)
    assert json.loads(avadm("status", "--json").stdout)["operations"], "the killed process is gone"
    refused = avadm("apply", "etcd", timeout=TIMEOUT_S)
    assert "avadm operation abandon" in " ".join(refused.stderr.split()), refused.stdout + refused.stderr
    refused = avadm("operation", "abandon", "--yes")
    assert refused.returncode == 2, refused.stderr
    assert "--accept abandon-half-way" in " ".join(refused.stderr.split()), refused.stderr
    good("operation", "abandon", "--accept", "abandon-half-way", "--yes")
    shown = json.loads(good("status", "--json"))
    assert shown["operations"] == shown["leftovers"] == []
    assert etcd_versions(lab) == {"3.4"}
    assert not load(lab.site_path).site.component_profiles
    good("apply", "etcd")
    row.came = "abandoned; apply runs again"


def test_etcd_is_killed_in_its_upgrade_and_continued_under_load(lab, needs_etcd, loads, recorder, tried):
    row = tried(
        "etcd upgraded", "avadm is killed at the second member", "continued; no acknowledged write lost"
    )
    members = lab.names("etcd")
    before = {n: packages(lab, n) for n in (n["name"] for n in lab.nodes)}
    plan = json.loads(good("upgrade", "etcd", "--to", NEWER, "--dry-run", "--json"))
    assert plan["refused"] == [] and set(plan["nodes"]) == set(members)
    assert any("3.5.*" in line for line in plan["packages"])
    # A single member cannot be upgraded without a pause of all that asks the API.
    several = len(members) >= 3
    goals = GOALS_S if several else {}
    begun = time.monotonic()
    with recorder.under("upgrade", KILLED_AT_STEPS, loads(), goals, () if several else ASKS_THE_API):
        killed(["upgrade", "etcd", "--to", NEWER, "--yes"], min(3, len(members) + 1))
        refused = avadm("apply", "etcd", timeout=TIMEOUT_S)
        reply = " ".join((refused.stdout + refused.stderr).split())
        assert refused.returncode != 0 and f"avadm upgrade etcd --to {NEWER}" in reply, reply
        good("upgrade", "etcd", "--to", NEWER, "--yes")
    assert etcd_versions(lab) == {"3.5"}
    changed = {n: differing(before[n], packages(lab, n)) for n in before}
    assert changed == {n: {"etcd-server", "etcd-client"} if n in members else set() for n in before}
    held = [lab.run(n, "ls /var/lib/etcd/avadm-upgrade/2*.db").returncode == 0 for n in members]
    assert held.count(True) >= 1
    assert load(lab.site_path).site.component_profiles == {"etcd": NEWER}
    row.came = f"{time.monotonic() - begun:.0f} s, nothing lost"


def test_a_second_run_and_an_apply_change_nothing(lab, needs_etcd):
    before = {n: packages(lab, n) for n in lab.names("etcd")}
    good("upgrade", "etcd", "--to", NEWER, "--yes")
    assert unchanged(lab)
    assert {n: packages(lab, n) for n in before} == before


def test_the_doctor_says_that_the_site_is_between_two_profiles(lab, needs_etcd):
    done = avadm("doctor", "--only", "component-profiles,etcd", "--json", timeout=300)
    found = [row for row in json.loads(done.stdout)["checks"] if row["id"] == "component-profiles"]
    assert [(row["status"], row["where"]) for row in found] == [("warn", "etcd")]


def test_a_prometheus_that_fails_gets_its_former_version_back(lab, needs_etcd, tried):
    nodes = lab.names("prometheus")
    row = tried(
        "Prometheus upgraded",
        f"apt holds the package on {nodes[-1]}",
        "exit 1, it runs as before; then continued",
    )
    lab.sh(nodes[-1], "apt-mark hold prometheus")
    try:
        done = avadm("upgrade", "prometheus", "--to", NEWER, "--yes", timeout=TIMEOUT_S)
    finally:
        lab.sh(nodes[-1], "apt-mark unhold prometheus")
    assert done.returncode == 1, done.stdout + done.stderr
    assert packages(lab, nodes[-1])["prometheus"].startswith("2.42.")
    assert lab.run(nodes[-1], "systemctl is-active prometheus").stdout.strip() == "active"
    good("upgrade", "prometheus", "--to", NEWER, "--yes")
    assert all(packages(lab, n)["prometheus"].startswith("2.53.") for n in nodes)
    row.came = "exit 1, 2.42 ran on; continued to 2.53"


def test_postgresql_hands_over_and_keeps_what_was_committed(lab, needs_etcd, tried):
    nodes = lab.names("database")
    if not nodes:
        pytest.skip("this lab has no database")
    row = tried("PostgreSQL upgraded", "rows are committed meanwhile", "no committed row lost, one timeline")
    versions = {n: packages(lab, n) for n in nodes}
    good("upgrade", "postgresql", "--to", NEWER, "--yes")
    after = {n: packages(lab, n) for n in nodes}
    assert all(after[n]["patroni"].startswith("4.0.") for n in nodes)
    assert all(after[n]["postgresql-15"].startswith("15.20") for n in nodes)
    members = json.loads(lab.sh(nodes[0], "patronictl -c /etc/patroni/config.yml list -f json"))
    assert len({one["TL"] for one in members}) == 1
    assert [one["Role"] for one in members].count("Leader") == 1
    changed = {n: sorted(differing(versions[n], after[n])) for n in nodes}
    row.came = f"changed: {changed[nodes[0]]}"


def test_docker_is_upgraded_on_drained_nodes(lab, needs_etcd, drains, tried):
    workers = lab.names("worker")
    row = tried("docker upgraded", "pods of all workers", "each node Ready and its pods too, none cordoned")
    good("apply", "nodes")
    good("upgrade", "docker", "--to", NEWER, "--yes", *ONE_HOME, *drains)
    assert all(packages(lab, n)["docker.io"].startswith("26.1.") for n in workers)
    nodes = json.loads(lab.sh(lab.names("master")[0], "kubectl get nodes -o json"))["items"]
    assert not any(one["spec"].get("unschedulable") for one in nodes)
    row.came = "26.1 on all nodes"


def test_the_last_component_brings_the_site_to_the_profile(lab, needs_etcd):
    good("upgrade", "--to", NEWER, "--yes")
    site = load(lab.site_path).site
    assert (site.profile, site.component_profiles) == (NEWER, {})
    assert unchanged(lab)
    libc = {lab.sh(n["name"], "dpkg-query -W -f '${Version}' libc6").split("-")[0] for n in lab.nodes}
    assert libc == {"2.36"}, "no other C library came along"
