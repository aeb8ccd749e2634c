"""A second apply proves instead of repeating, and runs exactly what drifted; the nodes' values are a dictionary."""

import json

import pytest

from avadm.remote.events import Kind
from avadm.state.site_state import PhaseState, SiteState
from tests.unit.fakes.cli import MONS, SITE
from tests.unit.fakes.nodes import answer

pytestmark = pytest.mark.usefixtures("keeping")
NEW = "  - {name: comp9, address: 10.9.0.29, roles: [client]}\n"


def phases(result):
    return {p["name"]: p for p in json.loads(result.stdout)["phases"]}


def test_a_second_apply_runs_nothing_and_asks_each_node_once(installed, nodes, playbooks):
    result = installed("apply")
    assert result.exit_code == 0, result.output
    assert playbooks.phases == []
    assert sorted(nodes.asked) == ["comp1", "comp2", *MONS]
    assert "unchanged (proven: 5 files, 5 packages on 5 hosts)" in result.output
    assert "No changes: everything is in sync, verified" in result.output
    found = phases(installed("apply", "--json"))
    assert {p["state"] for p in found.values()} == {"unchanged"}
    assert set(found["base"]["hosts"]) == {*MONS, "comp1", "comp2"}


def test_plan_names_drift_per_host_and_changes_nothing(installed, nodes, playbooks):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    nodes.values["", "pool rbd"] = "size 3"
    text = installed("plan").output
    assert "base: drift on comp1: file /etc/base: right → wrong" in text
    found = phases(installed("plan", "--json"))
    assert {n for n, p in found.items() if p["state"] == "drift"} == {"base", "rbd"}
    assert {p["state"] for n, p in found.items() if n not in ("base", "rbd")} == {"done"}
    drift = {"state": "drift", "reasons": ["file /etc/base: right → wrong"]}
    assert found["base"]["hosts_state"]["comp1"] == drift
    assert found["base"]["hosts_state"]["comp2"] == {"state": "done", "reasons": []}
    assert found["rbd"]["hosts_state"]["cluster"]["state"] == "drift"
    assert found["ceph"]["proven"].startswith("proven: 3 units")
    assert {p["state"] for p in phases(installed("plan", "--offline", "--json")).values()} == {"done"}
    assert playbooks.phases == nodes.asked == []


def test_plan_before_anything_is_installed_asks_no_node_for_values(avadm, nodes):
    # The table says it of each phase: no second line does.
    assert "not done yet" not in avadm("plan").output
    assert {p["state"] for p in phases(avadm("plan", "--json")).values()} == {"pending"}
    assert nodes.asked == []


def test_full_runs_everything(installed, playbooks):
    installed("apply", "--force")
    assert sorted(playbooks.phases) == ["base", "ceph", "cephfs", "monitoring", "rbd"]
    installed("apply")
    assert playbooks.phases == []


@pytest.mark.parametrize(
    ("host", "item", "found", "phase"),
    [
        ("comp1", "file /etc/base", "wrong", "base"),
        ("stor2", "package base", "2.0", "base"),
        ("stor3", "unit ceph", "!inactive enabled", "ceph"),
        ("", "pool rbd", "size 3", "rbd"),
        ("", "entity client.a", "caps *", "ceph"),
        ("", "health 3", "!HEALTH_WARN", "ceph"),
    ],
)
def test_drift_makes_its_phase_run_and_no_other_and_the_next_is_proven(
    installed, nodes, playbooks, host, item, found, phase
):
    nodes.values[host, item] = found
    reply = installed("apply").output
    assert playbooks.phases == [phase]
    assert f"drift on {host or 'the cluster'}: {item}: right → {found.lstrip('!')}" in reply
    installed("apply")
    assert playbooks.phases == []


def test_what_ceph_warns_of_is_named_and_no_drift(installed, nodes, playbooks):
    nodes.values["", "health 3"] = "healthy but for MON_DISK_LOW (mon stor1 is low on available space)"
    for words in (("plan",), ("apply",)):
        reply = installed(*words)
        assert reply.exit_code == 0
        assert reply.output.count("ceph warns: MON_DISK_LOW (mon stor1 is low on available space)") == 1
        assert "avadm doctor" in reply.output
        assert playbooks.phases == []
    assert json.loads(installed("plan", "--json").stdout)["warnings"][0].startswith(
        "ceph warns: MON_DISK_LOW"
    )


def test_where_nodes_are_done_apart_only_those_that_need_it_run(installed, nodes, playbooks):
    nodes.values["comp1", "file /etc/base"] = "wrong"
    nodes.silent.add("comp2")
    found = phases(installed("plan", "--json"))
    assert found["base"]["runs_on"] == ["comp1", "comp2"]
    assert found["ceph"]["runs_on"] == []
    reply = installed("apply").output
    ran = {one.phase: one.limit for one in playbooks.requests}
    assert ran["base"] == ("comp1", "comp2")
    assert ran["monitoring"] == ran["cephfs"] == ("comp2",)
    assert "only there: 3 other nodes are proven unchanged" in reply
    nodes.silent.clear()
    assert installed("apply").exit_code == 0
    assert installed("apply") and playbooks.phases == []


def test_a_node_that_is_down_does_not_keep_others_from_what_they_need(installed, nodes, playbooks, tmp_path):
    nodes.silent.add("comp2")
    playbooks.script["base", "comp2"] = (Kind.UNREACHABLE, "No route to host")
    site_state = SiteState(tmp_path / ".avadm/t/ledger.json", "t")
    site_state.start("rbd", {"comp1": "x"}, "r")
    result = installed("apply")
    ran = {one.phase: one.limit for one in playbooks.requests}
    assert ran == {"base": ("comp2",), "rbd": ("comp1",)}
    assert (
        "cephfs      unchanged (proven unchanged on 4 nodes; the others cannot be reached)" in result.output
    )
    assert "Not reached, nothing was done there: comp2" in result.output
    assert result.exit_code == 1


def test_a_cluster_s_nodes_run_together(installed, nodes, playbooks):
    nodes.values["stor3", "unit ceph"] = "!inactive enabled"
    nodes.values["", "pool rbd"] = "size 3"
    reply = installed("apply").output
    assert {one.phase: one.limit for one in playbooks.requests} == {
        "ceph": MONS,
        "rbd": (*MONS, "comp1", "comp2"),
    }
    assert "only there" not in reply


def test_a_new_node_is_done_by_itself_where_the_others_inputs_are_as_they_were(
    installed, nodes, playbooks, tmp_path
):
    (tmp_path / "site.yml").write_text(SITE + NEW)
    found = phases(installed("plan", "--json"))["base"]["hosts_state"]
    assert {host for host, its in found.items() if its["state"] == "peers"} == {*MONS, "comp1", "comp2"}
    assert nodes.peer_calls == {}
    result = installed("apply", "--json")
    assert result.exit_code == 0
    ran = {one.phase: set(one.limit) for one in playbooks.requests}
    assert ran["base"] == ran["cephfs"] == ran["rbd"] == {"comp9"}
    assert "ceph" not in ran
    # Every node knows the others by name.
    assert nodes.peer_calls.keys() == {*MONS, "comp1", "comp2"}
    assert all(
        "10.9.0.29 comp9.example.test comp9\n" in known["peers.hosts"] for known in nodes.peer_calls.values()
    )
    counted = phases(result)["base"]
    assert (counted["state"], counted["changed"], counted["ok"], len(counted["hosts"])) == ("done", 5, 6, 6)
    assert installed("apply") and playbooks.phases == []


def test_a_node_that_has_drifted_too_or_is_unknown_gets_the_playbook(installed, nodes, playbooks, tmp_path):
    (tmp_path / "site.yml").write_text(SITE + NEW)
    nodes.values["comp1", "file /etc/base"] = "wrong"
    nodes.refusing["comp2"] = {"peers.hosts"}
    assert installed("apply").exit_code == 0
    assert playbooks.requests[0].limit == ("comp1", "comp2", "comp9")
    assert nodes.peer_calls.keys() == set(MONS)
    log = (tmp_path / "runs" / "latest" / "log.txt").read_text()
    assert "comp2 could not be updated directly, so the playbook runs there: RuntimeError: no" in log
    assert installed("apply") and playbooks.phases == []


def test_nodes_that_were_reported_stay_done_where_a_new_one_fails(installed, nodes, playbooks, tmp_path):
    (tmp_path / "site.yml").write_text(SITE + NEW)
    playbooks.script["base", "comp9"] = (Kind.FAILED, "no such package")
    assert installed("apply", "base").exit_code == 1
    playbooks.script.clear()
    nodes.peer_calls.clear()
    assert installed("apply", "base").exit_code == 0
    assert [one.limit for one in playbooks.requests] == [("comp9",)]
    assert nodes.peer_calls == {}


@pytest.mark.parametrize("argv", [["--force"], ["--dry-run"]])
def test_no_one_is_distinguished_in_a_full_or_a_dry_run(installed, nodes, playbooks, tmp_path, argv):
    (tmp_path / "site.yml").write_text(SITE + NEW)
    assert installed("apply", "base", *argv).exit_code in (0, 1)
    assert playbooks.requests[0].limit == (*MONS, "comp1", "comp2", "comp9")
    assert nodes.peer_calls == {}


def test_what_is_wrong_in_itself_is_never_proven_even_if_it_was_so_before(installed, nodes, playbooks):
    nodes.values["comp1", "unit prometheus"] = "!inactive"
    playbooks.fixes = False
    for _ in range(2):
        installed("apply")
        assert playbooks.phases == ["monitoring"]


def test_a_silent_node_is_not_proven(installed, nodes, playbooks):
    nodes.silent.add("comp2")
    result = installed("apply")
    assert sorted(playbooks.phases) == ["base", "cephfs", "monitoring", "rbd"]
    assert "unreachable on comp2: it cannot be asked: no route" in result.output


def test_the_cluster_is_asked_of_another_monitor_where_the_first_is_silent(installed, nodes, playbooks):
    nodes.silent.add("stor1")
    result = installed("apply", "rbd", "--limit", "stor2,stor3")
    assert playbooks.phases == [], result.output


def test_a_changed_input_makes_stale_exactly_what_depends_on_it(installed, playbooks, tmp_path):
    def changed(text):
        (tmp_path / "site.yml").write_text(text)
        return sorted(installed("apply") and playbooks.phases)

    assert changed(SITE + "components: {monitoring: {retention_days: 3}}\n") == ["monitoring"]
    assert changed(SITE) == ["monitoring"]
    assert changed(SITE + "ssh: {user: admin}\n") == []
    assert changed(SITE.replace("prometheus, alertmanager]}", "prometheus]}", 1)) == ["base", "monitoring"]


def test_a_failed_phase_is_run_again_and_what_was_done_is_not(avadm, playbooks):
    playbooks.failing.add("ceph")
    assert avadm("apply").exit_code == 1
    playbooks.failing.clear()
    assert avadm("apply").exit_code == 0
    assert sorted(playbooks.phases) == ["ceph", "cephfs", "rbd"]


def test_what_a_killed_run_left_running_is_run_again_and_the_rest_is_proven(installed, playbooks, tmp_path):
    site_state = SiteState(tmp_path / ".avadm/t/ledger.json", "t")
    site_state.start("rbd", {"comp1": "x"}, "r")
    assert site_state.entry("rbd", "comp1").state is PhaseState.RUNNING
    installed("apply")
    assert playbooks.phases == ["rbd"]


def test_a_run_on_one_node_keeps_what_the_others_had_left_in_the_cluster(installed, nodes, playbooks):
    nodes.values["", "health 3"] = "better"
    playbooks.own["stor3"] = ("unit ceph", "health 3")
    assert installed("apply", "ceph", "--limit", "stor3", "--force").exit_code == 0
    assert installed("apply").exit_code == 0
    assert playbooks.phases == []
    nodes.values["", "entity client.a"] = "another key"
    assert "drift on the cluster: entity client.a" in installed("apply", "ceph").output
    assert playbooks.phases == ["ceph"]
    # What a full run does not keep any more is no one's.
    playbooks.own |= dict.fromkeys(("stor1", "stor2"), ("unit ceph",))
    assert installed("apply", "ceph", "--force").exit_code == 0
    nodes.values["", "entity client.a"] = "absent"
    assert installed("apply", "ceph").exit_code == 0
    assert playbooks.phases == []


def test_without_the_vault_s_password_people_may_look_still(installed, tmp_path):
    (tmp_path / "site.vault-pass").write_text("another")
    assert {p["state"] for p in json.loads(installed("status", "--json").stdout)["phases"]} == {"done"}
    assert {p["state"] for p in phases(installed("plan", "--json")).values()} == {"done"}
    (tmp_path / "site.yml").write_text(SITE + "components: {monitoring: {retention_days: 3}}\n")
    assert phases(installed("plan", "--json"))["monitoring"]["state"] == "stale"


def test_fingerprints_of_another_run_prove_nothing(installed, playbooks, tmp_path):
    path = tmp_path / ".avadm/t/fingerprints.json"
    assert path.stat().st_mode & 0o777 == 0o600
    data = json.loads(path.read_text())
    data["phases"]["rbd"]["comp1"]["run"] = "other"
    path.write_text(json.dumps(data))
    installed("apply")
    assert playbooks.phases == ["rbd"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "salt": "x", "phases": {"base": 1}}']
)
def test_broken_fingerprints_prove_nothing(installed, playbooks, tmp_path, text):
    (tmp_path / ".avadm/t/fingerprints.json").write_text(text)
    installed("apply")
    assert len(playbooks.phases) == 5


def test_a_node_that_cannot_be_asked_what_a_phase_left_is_named_in_the_log(
    avadm, nodes, monkeypatch, tmp_path
):
    real = nodes.run

    def run(node, command, **more):
        reply = real(node, command, **more)
        asked = node == "comp2" and nodes.asked[-1:] == ["comp2"]
        return answer(node, command, rc=1, err="SyntaxError: no\n") if asked else reply

    monkeypatch.setattr(nodes, "run", run)
    assert avadm("apply", "base").exit_code == 0
    log = (tmp_path / "runs" / "latest" / "log.txt").read_text()
    assert "What base left on comp2 could not be asked, so it will run again: SyntaxError: no" in log
