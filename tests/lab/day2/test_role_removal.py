"""`avadm node remove NAME --role` on a lab of five masters: services, PostgreSQL's primary, then two masters, under load.

The lab has three masters afterwards.
"""

import json
from pathlib import Path

import pytest

from avadm.operations import removal_services
from avadm.site import edit
from tests.controls.day_two import KILLED_AT_RANDOM
from tests.lab.conftest import seen
from tests.lab.day2.interruptions import killed
from tests.lab.day2.test_node_add_remove import good, having, inside, named
from tests.lab.day2.test_node_replace import etcd_members
from tests.lab.faults.drive import avadm

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

SERVICES = {
    one.role: one.units
    for one in removal_services.SERVICES
    if one.role in {"dns", "ingress", "prometheus", "alertmanager"}
}
"""Units of the roles that several workers have without shared storage."""
PATRONI = "patronictl -c /etc/patroni/config.yml list --format=json"


def give(changes):
    """Give roles to nodes, and to no others, in the site file."""
    path = Path(seen().site_path)
    text = path.read_text(encoding="utf-8")
    for role, names in changes.items():
        text = edit.changed(text, edit.giving_role(role, names))
    edit.write(path, text)


def unchanged():
    return json.loads(good("apply", "--json", "--yes"))["changed"] == 0


@pytest.fixture(scope="module")
def grown():
    """Return a function that has the first three workers do some roles' work; it returns their names."""
    lab = seen()
    workers = having(lab, "worker")[:3]
    if len(having(lab, "master")) < 5 or len(workers) < 3 or not having(lab, "database"):
        pytest.skip("a lab of five masters, three workers and PostgreSQL")

    def grow(*roles):
        if any(having(lab, role) != workers for role in roles):
            give(dict.fromkeys(roles, workers))
            good("apply", "--yes")
        return workers

    return grow


@pytest.fixture(scope="module")
def serving(grown):
    """Have every worker serve everything."""
    return grown(*SERVICES)


@pytest.mark.parametrize("role", SERVICES)
def test_a_service_leaves_a_node_that_stays(serving, role):
    lab, name, last = seen(), serving[0], SERVICES[role][-1]
    good("node", "remove", name, "--role", role, "--yes")
    assert having(lab, role) == serving[1:]
    assert lab.run(name, f"systemctl is-active {last}").returncode != 0
    for other in serving[1:]:
        assert lab.run(other, f"systemctl is-active {last}").returncode == 0


def test_the_primary_of_the_database_leaves_under_load(grown, loads, recorder):
    lab, held = seen(), grown("database")
    members = json.loads(lab.sh(held[1], PATRONI))
    primary = next(one["Member"] for one in members if one["Role"] == "Leader")
    # A primary that hands over ends its connections: their transactions were not acknowledged.
    cut = {"rows"}
    with recorder.under("node remove", KILLED_AT_RANDOM, loads("KQ", away=[primary]), may_fail=cut):
        killed(["node", "remove", primary, "--role", "database", "--yes"], 12.0)
        good("node", "remove", primary, "--role", "database", "--yes")
    left = [name for name in held if name != primary]
    members = json.loads(lab.sh(left[0], PATRONI))
    assert {one["Member"] for one in members} == set(left)
    assert {one["Role"] for one in members} == {"Leader", "Sync Standby"}
    assert lab.run(primary, "systemctl is-active patroni").returncode != 0
    assert unchanged()


def test_two_of_five_masters_leave_under_load(grown, loads, recorder):
    lab = seen()
    masters = having(lab, "master")
    stay, leave = masters[1:4], [masters[0], masters[4]]
    with recorder.under("node remove", KILLED_AT_RANDOM, loads("KQ", away=leave)):
        for name in leave:
            for role, seconds in (("master", 20.0), ("etcd", 4.0)):
                killed(["node", "remove", name, "--role", role, "--yes"], seconds)
                good("node", "remove", name, "--role", role, "--yes")
    assert etcd_members(lab) == set(stay)
    endpoints = json.loads(lab.sh(stay[0], "kubectl get endpoints kubernetes -o json"))["subsets"][0]
    assert {one["ip"] for one in endpoints["addresses"]} == {str(lab.node(name)["address"]) for name in stay}
    refused = avadm("node", "remove", stay[0], "--role", "master", "--dry-run", "--json")
    assert "quorum-even" in {one["check"] for one in json.loads(refused.stdout)["refused"]}
    assert unchanged()
    for name in leave:
        good("node", "remove", name, "--yes")
        assert named(lab, name) == []
        units = inside(name, "systemctl is-active etcd kube-apiserver kubelet haproxy || true")
        assert set(units.split()) <= {"inactive", "unknown"}
    assert unchanged()
