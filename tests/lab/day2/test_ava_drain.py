"""Drains under AVA's runs, alone and in a maintenance: they leave after the notice, a service answers all the while, kills."""
# ruff: noqa: F811

import json
import signal
import threading
import time

import pytest

from ava.client import ApiError
from tests.lab.ava.conftest import authority, day, platform  # noqa: F401 - fixtures
from tests.lab.ava.load import SMALL
from tests.lab.faults.drive import avadm, start
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]
NOTICE_S = 60
SERVE = ["python3", "-m", "http.server", "8080"]


def submit(day, name, **spec):
    """Start a run with GPUs: two nodes of the lab have some, and AVA's own pods are on neither."""
    roles = [{"replicas": spec.pop("replicas", 1), "each": {**SMALL, "gpu": 1}}]
    return day.user.start(name, {"image": day.image, "roles": roles, **spec}).id


def nodes(day, run):
    return {p.node for p in day.user.pods(run) if p.node and p.phase == "Running"}


def running(day, run):
    assert wait(lambda: day.user.run(run).state == "running", 120), day.user.why(run)


def drain(platform, node, *words):
    return avadm("node", "drain", node, "--as", platform.admin, "--yes", *words)


def cordoned(lab, node):
    shown = f"kubectl --kubeconfig /root/.kube/config get node {node} -o jsonpath='{{.spec.unschedulable}}'"
    return lab.sh(lab.names("master")[0], shown).strip() == "true"


@pytest.fixture
def uncordoned(platform, lab):
    """All workers take pods again afterwards."""
    yield
    assert avadm("node", "uncordon", *lab.names("worker"), "--as", platform.admin).returncode == 0


def test_a_training_is_listed_waited_for_and_ended_by_consent(platform, day, lab, uncordoned):
    run = submit(day, "drain-training", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    plan = drain(platform, node, "--dry-run", "--json")
    assert plan.returncode == 0, plan.stdout + plan.stderr
    found = json.loads(plan.stdout)["runs"]
    assert (node, run, day.user.run(run).owner) in {(r["node"], r["id"], r["owner"]) for r in found}
    assert not cordoned(lab, node)
    late = drain(platform, node, "--notice", "5s", "--timeout", "20")
    assert late.returncode == 1, late.stdout + late.stderr
    assert run in late.stderr and "Traceback" not in late.stderr
    # What it had set is undone: the node takes pods, the notice is withdrawn, the training runs.
    assert not cordoned(lab, node)
    assert (day.user.run(run).state, day.user.run(run).leaves) == ("running", None)
    waiting = start(
        "node", "drain", node, "--as", platform.admin, "--yes", "--notice", "5s", "--timeout", "300"
    )
    assert wait(lambda: day.user.run(run).leaves is not None, 60)
    assert day.user.run(run).leaves.node == node
    day.user.consent(run)
    out, _ = waiting.communicate(timeout=400)
    assert waiting.returncode == 0, out
    ended = day.user.run(run)
    assert (ended.state, node in ended.reason) == ("stopped", True)
    again = drain(platform, node)
    assert again.returncode == 0, again.stdout + again.stderr


def test_stop_runs_ends_a_training_after_its_notice(platform, day, uncordoned):
    run = submit(day, "drain-stopped", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    began = time.monotonic()
    done = drain(platform, node, "--notice", f"{NOTICE_S}s", "--stop-runs", "--timeout", "180")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began >= NOTICE_S
    assert day.user.run(run).state == "stopped"


def test_a_service_has_a_ready_replica_all_the_while(platform, day, uncordoned):
    run = submit(
        day, "drain-service", kind="service", command=SERVE, replicas=2, serving={"model": "m", "port": 8080}
    )
    running(day, run)
    assert wait(lambda: day.user.service(run).ready == 2, 120)
    node = min(nodes(day, run))
    seen, over = [], threading.Event()

    def sample():
        while not over.wait(0.5):
            try:
                seen.append(day.user.service(run).ready)
            except ApiError:
                continue

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        done = drain(platform, node, "--notice", f"{NOTICE_S}s", "--timeout", "900")
    finally:
        over.set()
        sampler.join()
        day.user.stop(run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert min(seen) >= 2, seen


def test_a_drain_that_is_killed_in_the_notice_is_continued_with_the_first_notice(
    platform, day, lab, uncordoned
):
    run = submit(day, "drain-killed", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    words = ("--notice", f"{2 * NOTICE_S}s", "--stop-runs", "--timeout", "180")
    first = start("node", "drain", node, "--as", platform.admin, "--yes", *words)
    assert wait(lambda: day.user.run(run).leaves is not None, 60)
    until = day.user.run(run).leaves.until
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert cordoned(lab, node)
    # Longer than AVA leaves a notice to a node that takes pods.
    time.sleep(70)
    assert day.user.run(run).leaves.until == until
    done = drain(platform, node, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[1/" in done.stderr
    assert (day.user.run(run).state, cordoned(lab, node)) == ("stopped", True)


def test_a_drain_that_is_killed_is_undone_by_the_next_command_of_another_kind(platform, day, lab, uncordoned):
    run = submit(day, "drain-undone", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    first = start("node", "drain", node, "--as", platform.admin, "--yes", "--notice", "1h")
    assert wait(lambda: day.user.run(run).leaves is not None, 60)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    osd = lab.names("osd")[-1]
    try:
        other = avadm("maintenance", "begin", osd, "--for", "1h", "--reason", "a test", "--yes", timeout=900)
        assert other.returncode == 0, other.stdout + other.stderr
        assert not cordoned(lab, node)
        assert wait(lambda: day.user.run(run).leaves is None, 90)
        assert day.user.run(run).state == "running"
    finally:
        avadm("maintenance", "end", osd, "--yes", timeout=1500)
        day.user.stop(run)
    assert avadm("node", "uncordon", node, "--as", platform.admin).returncode == 0
    blocked = [o["verb"] for o in json.loads(avadm("status", "--json").stdout)["operations"]]
    assert "node drain" not in blocked


def test_a_maintenance_waits_for_a_run_and_its_end_withdraws_the_notice(platform, day, lab, uncordoned):
    run = submit(day, "drain-maintenance", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    words = ["--for", "1h", "--reason", "a test", "--as", platform.admin]
    words += ["--notice", f"{NOTICE_S}s", "--stop-runs", "--timeout", "180"]
    plan = avadm("maintenance", "begin", node, *words, "--dry-run", "--json")
    assert plan.returncode == 0, plan.stdout + plan.stderr
    assert (node, run) in {(r["node"], r["id"]) for r in json.loads(plan.stdout)["runs"]}
    began = time.monotonic()
    done = avadm("maintenance", "begin", node, *words, "--yes", timeout=900)
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        assert time.monotonic() - began >= NOTICE_S
        assert (day.user.run(run).state, cordoned(lab, node)) == ("stopped", True)
    finally:
        ended = avadm("maintenance", "end", node, "--yes", timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not cordoned(lab, node)
    assert "ava-drain" not in avadm("status", "--json").stdout


def test_the_plan_of_a_removal_lists_runs(platform, day):
    run = submit(day, "drain-removal", command=["sleep", "600"])
    running(day, run)
    (node,) = nodes(day, run)
    plan = avadm("node", "remove", node, "--as", platform.admin, "--dry-run", "--json")
    found = json.loads(plan.stdout)
    day.user.stop(run)
    if refused := [one["found"] for one in found["refused"] if one["check"] == "role-not-supported"]:
        pytest.skip(f"{node} has roles that cannot be removed: {', '.join(refused)}")
    assert (node, run) in {(r["node"], r["id"]) for r in found["runs"]}, plan.stdout
