"""A user's day through the public interface alone: an account, trainings on CPUs and GPUs, their logs, a stop, the usage."""

import json
import time

import pytest

from ava.client import ApiError
from tests.lab.ava.user_journey import CARDS, ENDED, SMALL

pytestmark = pytest.mark.lab


@pytest.mark.core("trainings")
def test_a_training_runs_on_a_cpu_node_and_its_log_is_kept(day):
    run = day.start("hello", "import os; print('uid', os.getuid())", roles=[{"each": SMALL}])
    assert day.until(run, *ENDED).outcome == "succeeded"
    assert day.log(run, 1) == [f"uid {day.user.me().uid}"]
    assert {pod.node for pod in day.user.pods(run)} == {"comp1"}  # the only worker without GPUs


def test_a_distributed_training_is_placed_as_one_and_finds_its_peers(day):
    program = "import os; print(os.environ['TF_CONFIG'])"
    roles = [
        {"name": "ps", "each": SMALL},
        {"name": "worker", "replicas": 2, "each": {**SMALL, "gpu": 1}, "ends_run": True},
    ]
    run = day.start("distributed", program, distributed="tensorflow", roles=roles)
    assert day.until(run, *ENDED).outcome == "succeeded"
    reports = [json.loads(line) for line in day.log(run, 3)]
    assert sorted((t["task"]["type"], t["task"]["index"]) for t in reports) == [
        ("chief", 0),
        ("ps", 0),
        ("worker", 0),
    ]
    assert len({json.dumps(t["cluster"], sort_keys=True) for t in reports}) == 1
    workers = {pod.node for pod in day.user.pods(run) if pod.role == "worker"}
    assert len(workers) == 1, "best fit fills one GPU node before it takes another"


def test_what_waits_says_why_and_runs_once_there_is_room(day):
    each = {**SMALL, "gpu": CARDS}
    # bash does not pass a stop on to its child: the init process before it does (K9).
    first = day.start("first", ["bash", "-c", "sleep 600; true"], roles=[{"each": each}])
    day.until(first, "running")
    second = day.start("second", "print('at last')", roles=[{"each": {**SMALL, "gpu": 1}}])
    day.until(second, "queued")
    with pytest.raises(ApiError) as never:
        day.start("never", "", roles=[{"each": {**SMALL, "gpu": CARDS + 1}}])
    assert never.value.problems[0].remedy
    until = time.monotonic() + 20
    while not (reasons := day.user.why(second).reasons):
        assert time.monotonic() < until
        time.sleep(0.3)
    assert "GPU" in reasons[0].what
    asked = time.monotonic()
    day.user.stop(first)
    assert day.until(first, *ENDED).outcome == "stopped"
    # Where it does not reach the child, the kill comes after the grace of 30 s.
    assert time.monotonic() - asked < 28, "the stop did not reach bash's child"
    assert day.until(second, *ENDED).outcome == "succeeded"


def test_a_training_reaches_nothing_of_the_hosts(day, lab):
    """etcd, API server, kubelet, PostgreSQL, registry, monitors, log store, ssh; and DNS, which it may ask, as the control."""
    doors = [(lab.names("master")[0], port) for port in (2379, 6443, 22)]
    doors += [("comp1", port) for port in (10250, 9428, 22)] + [("comp3", 5432), ("stor1", 6789)]
    addresses = [(lab.node(name)["address"], port) for name, port in doors]
    program = (
        "import os, socket\n"
        f"for door in {addresses!r}:\n"
        "    s = socket.socket(); s.settimeout(1)\n"
        "    print(*door, 'closed' if s.connect_ex(door) else 'OPEN')\n"
        "print('dns', socket.gethostbyname('kubernetes.default.svc.cluster.local') != '')\n"
        "print('token', os.path.exists('/var/run/secrets/kubernetes.io'))\n"
    )
    run = day.start("spy", program, roles=[{"each": SMALL}])
    assert day.until(run, *ENDED).outcome == "succeeded"
    reply = day.log(run, len(addresses) + 2)
    assert reply == [*(f"{a} {port} closed" for a, port in addresses), "dns True", "token False"]


def test_what_was_used_is_reported_by_group(day):
    run = day.start("used", "import time; time.sleep(2)", roles=[{"each": {**SMALL, "gpu": 1}}])
    day.until(run, *ENDED)
    (used,) = [row for row in day.user.usage().rows if row.group == day.group]
    assert used.runs >= 1
    assert used.gpu_hours > 1 / 3600
