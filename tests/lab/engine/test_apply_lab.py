"""The whole installation on the running lab: a second run changes nothing; what other tools read keeps its shape."""

import json
import re
import time

import pytest

from avadm import paths
from tests.lab.faults.drive import avadm
from tests.lab.second_apply import lock_file, other_controller

pytestmark = pytest.mark.lab


def test_a_second_run_changes_nothing_on_any_host_and_says_so(lab, second_run):
    summary = second_run.summary
    assert set(summary["hosts"]) == {n["name"] for n in lab.nodes}
    assert {
        name: (h["changed"], h["failed"], h["unreachable"]) for name, h in summary["hosts"].items()
    } == dict.fromkeys(summary["hosts"], (0, 0, 0)), summary["changes"]
    assert "No changes" in second_run.output


@pytest.mark.core("second run")
def test_a_second_run_proves_every_phase_unchanged_and_runs_none(lab):
    begun = time.monotonic()
    done = avadm("apply", "--json")
    took = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    states = {p["name"]: (p["state"], p["because"]) for p in summary["phases"]}
    assert states == dict.fromkeys(states, ("unchanged", []))
    assert set(summary["hosts"]) == {n["name"] for n in lab.nodes}
    # It takes 10 to 20 s, an installation 7 minutes and more. That nothing ran is above; a busy machine gets some grace.
    assert took < 120


def test_drift_made_by_hand_is_named_and_fixed_and_then_proven_again(lab, second_run):
    node, mon = lab.names("prometheus")[0], lab.names("mon")[0]
    pool = lab.sh(mon, "ceph osd pool ls").split()[-1]
    size = lab.sh(mon, f"ceph osd pool get {pool} size").split()[-1]
    other = "3" if size == "2" else "2"
    lab.sh(node, "echo '# by hand' >> /etc/sysctl.d/90-avadm.conf && systemctl stop prometheus-node-exporter")
    lab.sh(mon, f"ceph osd pool set {pool} size {other}")
    found = {p["name"]: p for p in json.loads(avadm("apply", "--json", timeout=600).stdout)["phases"]}
    text = " | ".join(line for phase in found.values() for line in phase["because"])
    assert "file /etc/sysctl.d/90-avadm.conf: other content" in text
    assert "unit prometheus-node-exporter: active enabled → inactive enabled" in text
    assert f"pool {pool}: size {size}" in text
    assert found["base"]["changed"] == 1
    assert "by hand" not in lab.sh(node, "cat /etc/sysctl.d/90-avadm.conf")
    assert lab.host(node).service("prometheus-node-exporter").is_running
    assert lab.sh(mon, f"ceph osd pool get {pool} size").split()[-1] == size
    third = json.loads(avadm("apply", "--json").stdout)
    assert {p["state"] for p in third["phases"]} == {"unchanged"}, third["phases"]


def test_what_a_plan_saw_is_done_and_nothing_after_it_changed(lab, second_run, tmp_path):
    node, kept = lab.names("client")[0], str(tmp_path / "plan.json")
    path = "/etc/sysctl.d/90-avadm.conf"
    lab.sh(node, f"echo '# by hand' >> {path}")
    planned = avadm("plan", "--deep", "--out", kept)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert re.search(rf"base: would change on {node}: base : ", planned.stdout), planned.stdout
    assert planned.stdout.count("would change") == 1, planned.stdout
    lab.sh(node, f"echo '# once more' >> {path}")
    refused = avadm("apply", "--plan", kept)
    assert refused.returncode == 2, refused.stdout
    assert f"file {path}" in refused.stderr
    assert "once more" in lab.sh(node, f"cat {path}")
    assert avadm("plan", "--out", kept).returncode == 0
    done = avadm("apply", "--plan", kept, "--json")
    assert done.returncode == 0, done.stderr
    found = {p["name"]: p["changed"] for p in json.loads(done.stdout)["phases"] if p["state"] != "unchanged"}
    assert found == {"base": 1}
    assert "#" not in lab.sh(node, f"cat {path}").replace("# Managed", "")


def test_a_second_controller_is_refused_with_who_and_since_when(lab, second_run, tmp_path):
    refused, dry = second_run.refused, second_run.dry
    assert refused.returncode == 2, refused.stdout
    assert f"process {second_run.pid} on" in refused.stderr
    assert re.search(r"since 20\d\d-\d\d-\d\dT", refused.stderr)
    assert dry.returncode == 0, "a dry run needs no lock"
    assert avadm("--site", other_controller(lab, tmp_path), "plan", "--offline").returncode == 0
    assert lab.run(lab.names("mon")[0], f"cat {lock_file(lab)}").returncode != 0, "the lock stays behind"


def test_the_lock_of_a_machine_that_is_gone_is_broken_by_name(lab, second_run):
    path = lock_file(lab)
    gone = {
        "token": "theirs",
        "verb": "apply",
        "host": "gone",
        "machine": "m",
        "user": "ann",
        "pid": 7,
        "since": "then",
    }
    for mon in lab.names("mon"):
        lab.sh(mon, f"umask 077; echo '{json.dumps(gone)}' > {path}")
    try:
        refused = avadm("apply")
        broken = avadm("apply", "--break-lock")
    finally:
        for mon in lab.names("mon"):
            lab.sh(mon, f"if grep -q theirs {path}; then rm {path}; fi")
    assert refused.returncode == 2, refused.stdout
    assert "process 7 on gone, user ann" in refused.stderr
    assert "--break-lock" in refused.stderr
    assert broken.returncode == 0, broken.stdout + broken.stderr
    assert "Broke the lock of `avadm apply`, process 7 on gone" in broken.stdout
    assert "Broke the lock" in (paths.runs() / "latest" / "log.txt").read_text()


def test_a_lost_controller_disk_costs_no_repetition(lab, second_run, tmp_path):
    site = other_controller(lab, tmp_path)
    done = avadm("--site", site, "apply", "--json")
    assert done.returncode == 0, done.stderr
    assert "took over the copy that" in done.stderr
    assert {p["state"] for p in json.loads(done.stdout)["phases"]} == {"unchanged"}


def test_a_run_folder_has_what_other_tools_read(second_run):
    folder = second_run.folder
    assert {"events.jsonl", "log.txt", "ledger.json", "summary.json"} <= {p.name for p in folder.iterdir()}
    events = (folder / "events.jsonl").read_text().splitlines()
    assert len(events) > 100
    assert all(isinstance(json.loads(line), dict) for line in events[:50])
    assert folder.stat().st_mode & 0o077 == 0


def test_status_is_done_for_every_phase():
    status = json.loads(avadm("status", "--json").stdout)
    assert {p["name"] for p in status["phases"]} >= {"base", "ceph", "cephfs", "rbd", "monitoring"}
    assert {p["name"]: p["state"] for p in status["phases"]} == {p["name"]: "done" for p in status["phases"]}
    for phase in status["phases"]:
        assert phase["hosts"]["done"] == phase["hosts"]["total"] > 0
        assert phase["hosts"]["failed"] == 0


def test_the_lab_lists_what_ssh_needs(lab):
    for node in lab.nodes:
        assert {"name", "address", "roles", "ssh"} <= set(node)
        assert {"user", "port", "key"} <= set(node["ssh"])
        assert lab.sh(node["name"], "hostname").strip() == node["name"]
    assert "health" in lab.sh(lab.names("mon")[0], "ceph -s")


@pytest.mark.core("secrets")
def test_no_key_of_the_vault_is_in_any_run_folder(lab):
    from avadm.site.vault import Vault

    # The fsid is an identifier that ceph prints everywhere, not a key.
    vault = Vault.open(lab.site_path)
    secrets = [v.encode() for v in vault.values() if len(v) > 12 and v.count("-") != 4]
    assert len(secrets) > 5
    for path in paths.runs().rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(secret in content for secret in secrets), f"{path} holds a key"


def test_an_unknown_phase_and_an_empty_limit_are_sentences():
    for argv in (("apply", "cehp"), ("apply", "--limit", "nobody")):
        done = avadm(*argv)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    assert "ceph" in avadm("apply", "cehp").stderr
