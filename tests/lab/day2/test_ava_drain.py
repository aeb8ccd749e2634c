"""`avadm node drain` under AVA's runs: a workbench and a training leave after the notice, a service answers all the while."""
# ruff: noqa: F811

import json
import threading
import time

import pytest

from ava.client import ApiError
from tests.lab.ava.conftest import authority, day, platform  # noqa: F401 - fixtures
from tests.lab.ava.load import SMALL
from tests.lab.faults.drive import avadm
from tests.lab.waiting import wait

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]
NOTICE_S = 60
SERVE = ["python3", "-m", "http.server", "8080"]


def submit(day, name, **spec):
    roles = [{"replicas": spec.pop("replicas", 1), "each": SMALL}]
    return day.user.start(name, {"image": day.image, "roles": roles, **spec}).id


def nodes(day, run):
    return {p.node for p in day.user.pods(run) if p.node and p.phase == "Running"}


def running(day, run):
    assert wait(lambda: day.user.run(run).state == "running", 120), day.user.why(run)


def drain(platform, node, *words):
    return avadm("node", "drain", node, "--as", platform.admin, *words)


@pytest.fixture
def uncordoned(platform, lab):
    """All workers take pods again afterwards."""
    yield
    assert avadm("node", "uncordon", *lab.names("worker"), "--as", platform.admin).returncode == 0


def test_a_training_is_listed_waited_for_and_ended_by_consent(platform, day, uncordoned):
    run = submit(day, "drain-training", command=["sleep", "3600"])
    running(day, run)
    (node,) = nodes(day, run)
    plan = drain(platform, node, "--dry-run", "--json")
    assert plan.returncode == 0, plan.stdout + plan.stderr
    (found,) = json.loads(plan.stdout)["nodes"]
    assert (run, day.user.run(run).owner) in {(r["id"], r["owner"]) for r in found["runs"]}
    late = drain(platform, node, "--notice", "5s", "--timeout", "20")
    assert late.returncode == 2, late.stdout + late.stderr
    assert run in late.stderr and "Traceback" not in late.stderr
    assert day.user.run(run).state == "running"
    assert day.user.run(run).leaves.node == node
    day.user.consent(run)
    done = drain(platform, node, "--timeout", "120")
    assert done.returncode == 0, done.stdout + done.stderr
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
    run = submit(day, "drain-service", kind="service", command=SERVE, replicas=2, serving={"port": 8080})
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
