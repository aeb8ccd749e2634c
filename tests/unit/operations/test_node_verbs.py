"""`avadm node remove` as a user types it, with what follows on the other nodes: the engine is real, Ansible is played."""

import json

import pytest

from avadm.operations import run
from tests.unit.fakes.cli import avadm, playbooks, reached, refusals
from tests.unit.fakes.clock import Clock
from tests.unit.operations.removal_room import Room

__all__ = ["avadm", "playbooks"]

SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 10.9.0.0/24, domain: example.test}
nodes:
  - {name: stor1, address: 10.9.0.11, roles: [mon, mgr, osd, mds], devices: [{serial: A1}]}
  - {name: stor2, address: 10.9.0.12, roles: [mon, mgr, osd, mds], devices: [{serial: A2}]}
  - {name: stor3, address: 10.9.0.13, roles: [mon, osd], devices: [{serial: A3}]}
  - {name: stor4, address: 10.9.0.14, roles: [osd], devices: [{serial: A4}]}
  - {name: comp1, address: 10.9.0.21, roles: [client, prometheus, alertmanager]}
  - {name: comp2, address: 10.9.0.22, roles: [client, prometheus, alertmanager]}
"""


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    return reached(Room(tmp_path / "nodes"), monkeypatch)


@pytest.fixture
def site(tmp_path, playbooks, monkeypatch):
    time, plain = Clock(), run.Clock
    monkeypatch.setattr(run, "Clock", lambda: plain(time, time.sleep))
    (tmp_path / "site.yml").write_text(SITE)
    return tmp_path / "site.yml"


def test_the_others_are_brought_up_to_date_by_the_phases_that_it_concerns(avadm, site, playbooks, nodes):
    assert avadm("apply").exit_code == 0
    [*_, last] = json.loads(avadm("node", "remove", "stor4", "--dry-run", "--json").stdout)["steps"]
    done = avadm("node", "remove", "stor4", "--yes")
    assert done.exit_code == 0, (done.output, done.exception)
    # The plan has named what runs, and where.
    assert set(playbooks.phases) <= set(last["name"].partition(": ")[2].split(", "))
    assert {host for request in playbooks.requests for host in request.limit} <= set(last["nodes"])
    assert "stor4 is removed." in done.output
    assert {"base", "ceph"} <= set(playbooks.phases)
    assert not [host for request in playbooks.requests for host in request.limit if host == "stor4"]
    assert "stor4" not in site.read_text()
    assert 3 not in nodes.osds
    state = json.loads((site.parent / ".avadm/t/ledger.json").read_text())
    assert "stor4" not in json.dumps({**state, "operations": {}})
    plan = avadm("apply", "--resume")
    assert playbooks.phases == []
    assert plan.exit_code == 0


def test_a_phase_that_fails_afterwards_is_continued_by_the_same_command(avadm, site, playbooks):
    assert avadm("apply").exit_code == 0
    playbooks.failing = {"ceph"}
    failed = avadm("node", "remove", "stor4", "--yes")
    assert failed.exit_code == 1 or failed.exception.exit_code == 1
    refused = avadm("apply")
    assert [one.check for one in refusals(refused)] == ["operation-half-done"]
    playbooks.failing = set()
    assert avadm("node", "remove", "stor4", "--yes").exit_code == 0
    assert avadm("apply").exit_code == 0


def test_the_plan_changes_nothing(avadm, site, nodes):
    done = avadm("node", "remove", "stor4", "--dry-run", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["steps"][0]["gate"]
    assert nodes.acts == 0
    assert site.read_text() == SITE


def test_the_plan_says_what_forbids_it(avadm, site, nodes):
    nodes.size = 4
    done = avadm("node", "remove", "stor4", "--dry-run", "--json")
    assert [one["check"] for one in json.loads(done.stdout)["refused"]] == ["copies-few"]


def test_add_is_refused_for_a_name_that_is_known(avadm, site):
    done = avadm("node", "add", "stor4", "--address", "10.9.0.99", "--role", "osd", "--serial", "S1", "--yes")
    assert [one.check for one in refusals(done)] == ["node-known"]


def test_a_dead_node_that_kept_the_lock_is_no_hindrance(avadm, site, nodes, playbooks):
    # The monitor moved to stor4 before: the site file and the cluster say so.
    assert avadm("apply").exit_code == 0
    site.write_text(
        SITE.replace(
            "stor4, address: 10.9.0.14, roles: [osd]", "stor4, address: 10.9.0.14, roles: [mon, osd]"
        ).replace("stor3, address: 10.9.0.13, roles: [mon, osd]", "stor3, address: 10.9.0.13, roles: [osd]")
    )
    assert avadm("apply").exit_code == 0
    nodes.silent.add("stor3")
    nodes.osds[2].update(up=False, pgs=0)
    done = avadm("node", "remove", "stor3", "--dead", "--yes")
    assert done.exit_code == 0, (done.output, done.exception)
    assert 2 not in nodes.osds
    assert avadm("apply", "--resume").exit_code == 0
