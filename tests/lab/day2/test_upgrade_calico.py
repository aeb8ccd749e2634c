"""`avadm upgrade calico` on the lab: failed and taken back, killed and continued under load. It leaves Calico 3.31."""

import json

import pytest

from avadm.site.load import load
from tests.controls.day_two import KILLED_AT_STEPS
from tests.lab.day2.interruptions import killed, killed_at_each_step
from tests.lab.day2.test_upgrade import TIMEOUT_S, good
from tests.lab.faults.drive import avadm, healthy, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2, pytest.mark.usefixtures("marks")]

VERB, OLD, NEW, TO = "upgrade calico", "20250813-a0db560f0520", "3.31.0", "lab-bookworm-calico-3.31"
WORDS = ["upgrade", "calico", "--to", TO]
IMAGE = "docker inspect --format '{{.Config.Image}}' calico-node"
DROP_IN = "/etc/systemd/system/calico-node.service.d/planted.conf"
PLANT = f"""mkdir -p {DROP_IN.rpartition("/")[0]} && cat > {DROP_IN} <<'END'
[Service]
ExecStartPre=/bin/sh -c '! grep -q {NEW} /etc/systemd/system/calico-node.service'
END
systemctl daemon-reload"""
LIFT = f"rm -f {DROP_IN}; systemctl daemon-reload; systemctl reset-failed calico-node"


def members(lab):
    return sorted({*lab.names("master"), *lab.names("worker")})


def running(lab):
    """Return node to the version of its Calico."""
    return {name: lab.sh(name, IMAGE).strip().rpartition(":")[2] for name in members(lab)}


@pytest.fixture(scope="module")
def old(lab):
    """A lab with the snapshot of Calico, and release 3.31 in the cache."""
    if not lab.names("master") or set(running(lab).values()) != {OLD}:
        pytest.skip("this lab has no Calico of the profile lab-bookworm")
    good("artifacts", "build", "calico", "calico-image", "--to", TO)
    return lab


def test_the_plan_drains_nothing_and_changes_nothing(old):
    plan = json.loads(good(*WORDS, "--dry-run", "--json"))
    assert plan["refused"] == []
    assert set(plan["nodes"]) == {*members(old), old.names("etcd")[0]}
    assert not any("evict" in step["name"] for step in plan["steps"])
    assert set(running(old).values()) == {OLD}


def test_a_worker_whose_calico_fails_gets_the_former_version_back(old, tried):
    worker = next(n for n in old.names("worker") if n not in old.names("master"))
    row = tried(
        "Calico upgraded", f"the new version does not start on {worker}", "exit 1, the former runs there"
    )
    old.sh(worker, PLANT)
    try:
        done = avadm(*WORDS, "--yes", timeout=TIMEOUT_S)
    finally:
        old.sh(worker, LIFT)
    assert done.returncode == 1, done.stdout + done.stderr
    found = running(old)
    assert {found[name] for name in old.names("master")} == {NEW}
    assert found[worker] == OLD
    assert old.sh(worker, "systemctl is-active calico-node").strip() == "active"
    row.came = "exit 1, the former version runs there again"


def test_it_is_killed_at_each_step_and_continued_under_load(old, loads, recorder):
    at_work = loads("SKQ")
    recorder.skip_if_done(VERB, KILLED_AT_STEPS, at_work)
    with recorder.under(VERB, KILLED_AT_STEPS, at_work):
        assert "[2/" in killed([*WORDS, "--yes"], 2).output
        refused = avadm("apply", "nodes", timeout=TIMEOUT_S)
        assert refused.returncode == 2
        assert f"avadm upgrade calico --to {TO}" in " ".join(refused.stderr.split())
        assert killed_at_each_step([*WORDS, "--yes"]) >= 4
        good(*WORDS, "--yes")
    assert set(running(old).values()) == {NEW}
    site = load(old.site_path).site
    assert TO in (site.profile, *site.component_profiles.values())
    healthy(old)


def test_a_second_run_and_an_apply_change_nothing(lab):
    if set(running(lab).values()) != {NEW}:
        pytest.skip("Calico was not upgraded")
    good(*WORDS, "--yes")
    assert unchanged(lab)
    done = avadm("doctor", "--only", "calico-pool,calico-ready", "--json", timeout=300)
    assert {row["status"] for row in json.loads(done.stdout)["checks"]} <= {"ok"}, done.stdout
