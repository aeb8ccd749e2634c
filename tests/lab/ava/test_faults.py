"""Faults under load: what recovers within half a minute, and that no quota drifts and no GPU is given twice meanwhile.

The load is small runs of three users; each client notes what it saw, and the history is one that a database that keeps its quotas
could have given (tests/platform/history.py). A recovery is the time from the fault until a run that was submitted after it has
its place.
"""
# ruff: noqa: S311 - the moment of a kill, not a secret

import contextlib
import random
import time

import pytest

from avadm.components.ava.checks import PARTS
from tests.lab.ava.conftest import image_of
from tests.lab.ava.load import SMALL, Load
from tests.lab.ava.scene import LIMIT_S, NAMESPACE, Scene, client
from tests.lab.faults.drive import avadm, reachable
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]
CARD = {**SMALL, "gpu": 1}


@pytest.fixture(scope="module")
def scene(platform, lab, authority):
    """The platform under load; at the end the database and the histories are compared at rest."""
    assert platform.make_admin().returncode == 0
    admin = client(platform, authority, platform.admin, patience=20.0)
    tag = platform.admin
    quotas = {f"a-{tag}": 3, f"b-{tag}": 4, f"p-{tag}": None}
    of = {f"u1-{tag}": f"a-{tag}", f"u2-{tag}": f"a-{tag}", f"u3-{tag}": f"b-{tag}", f"u4-{tag}": f"p-{tag}"}
    for group, gpu in quotas.items():
        admin.make_group(group, {"gpu": gpu, "cpu": None, "memory": None})
    for user, group in of.items():
        admin.make_user(user, f"{user}@example.org", platform.password)
        admin.add_member(group, user)
    *users, probe = [client(platform, authority, user) for user in of]
    limited = {group: gpu for group, gpu in quotas.items() if gpu is not None}
    load = Load(users, admin, limited, image_of(platform))
    try:
        with load, Scene(platform, lab, load, probe) as found:
            yield found
        found.settled()
    finally:
        for user, group in of.items():
            admin.change_user(user, state="disabled")
            admin.remove_member(group, user)
        for group in quotas:
            admin.delete_group(group)


@pytest.fixture
def row(tried):
    """Return a function that notes what is planted and what is wanted of the recovery."""
    return lambda planted: tried(
        "AVA", f"{planted}, under load", f"a new run has its place within {LIMIT_S} s; no drift, no GPU twice"
    )


def test_an_api_process_is_killed(scene, row):
    found = row("SIGKILL to one API process")
    pods = scene.platform.ctl(f"get pods --namespace={NAMESPACE} --selector=part=api")["items"]
    took = scene.recovery(scene.killing(pods[0]["metadata"]["name"]))
    scene.whole()
    scene.agree()
    found.came = took.words
    assert took.seconds < LIMIT_S


def test_the_operator_that_leads_is_killed(scene, row):
    found = row("SIGKILL to the operator that leads")
    took = scene.recovery(scene.killing(scene.holder("operator")))
    scene.whole()
    scene.agree()
    found.came = took.words
    assert took.seconds < LIMIT_S


def test_the_scheduler_is_killed_while_it_binds(scene, row):
    found = row("SIGKILL to the scheduler while it places gangs of six, twice")
    dice, took, cut = random.Random(3), [], 0
    for n in range(2):
        kill = scene.killing(scene.holder("scheduler"))
        gang = scene.start(f"gang-{n}", ("sleep", "3"), roles=[{"each": SMALL, "replicas": 6}])
        time.sleep(dice.uniform(0.0, 1.5))
        took.append(scene.recovery(kill))
        pods = scene.platform.ctl(f"get pods --all-namespaces --selector=ava.io/run={gang}")["items"]
        cut += 0 < sum(bool(p["spec"].get("nodeName")) for p in pods) < len(pods)
        assert scene.until(gang, lambda r: r.phase == "finished", 90).outcome == "succeeded"
        scene.whole()
    scene.agree()
    found.came = f"{'; '.join(t.words for t in took)}; {cut} gangs were seen bound in part"
    assert max(t.seconds for t in took) < LIMIT_S


@pytest.mark.parametrize("part", [p for p in PARTS if p != "api"])
def test_one_that_was_frozen_wakes_beside_its_successor(scene, row, part):
    found = row(f"the {part} that leads is frozen until another one leads, and then wakes")
    first = scene.holder(part)
    node, _, container = scene.pod(first)
    with contextlib.ExitStack() as frozen:
        wake = f"docker unpause {container} || true"
        fault = planted(scene.lab, node, "ava-frozen", f"docker pause {container}", wake)
        took = scene.recovery(lambda: frozen.enter_context(fault))
        second = scene.holder(part)
        assert second != first
    for _ in range(5):
        time.sleep(2)
        assert scene.holder(part) == second, "who slept has taken the lead back"
    scene.whole()
    scene.agree()
    found.came = f"{took.words}; who woke left the lead to its successor"
    assert took.seconds < LIMIT_S


def test_the_network_between_operator_and_api_server_is_cut(scene, row):
    found = row("the operator that leads gets no packet to the API server")
    first = scene.holder("operator")
    node, address, _ = scene.pod(first)
    service = scene.platform.ctl("get service kubernetes --namespace=default")["spec"]["clusterIP"]
    # Before calico's own chains, which it puts first again in `filter` whenever a pod comes or goes.
    rule = f"PREROUTING -s {address} -d {service} -p tcp --dport 443 -j DROP"
    with contextlib.ExitStack() as cut:
        fault = planted(
            scene.lab, node, "ava-cut", f"iptables -t raw -I {rule}", f"iptables -t raw -D {rule}"
        )
        took = scene.recovery(lambda: cut.enter_context(fault))
        assert scene.holder("operator") != first
    scene.whole()
    scene.agree()
    found.came = f"{took.words}, with the other operator"
    assert took.seconds < LIMIT_S


def test_the_node_of_the_primary_with_runs_on_its_gpus_loses_power(scene, lab, row):
    """PostgreSQL's primary is on a GPU node of the lab: the database fails over, and what ran there is lost and begun again."""
    primary, standby = scene.database.whole(120)
    found = row(f"{primary}, with PostgreSQL's primary and runs on its GPUs, loses power")
    once, again = on(scene, primary, retries=0), on(scene, primary, retries=1)
    scene.away.add(primary)
    began = time.monotonic()
    try:
        took = scene.recovery(lambda: power(primary, "off"))
        found.came = took.words
        print(took.words)
        scene.agree()
        lost = scene.until(once, lambda r: r.phase == "finished", 300)
        report = time.monotonic() - began
        assert (lost.outcome, "node does not answer" in lost.reason) == ("lost", True)
        moved = scene.until(again, lambda r: r.attempt == 1 and r.state == "running", 90)
        assert {p.node for p in scene.probe.pods(moved.id) if p.attempt == 1} == {standby}
    finally:
        power(primary, "on")
    reachable(lab, primary)
    scene.database.whole(300)
    until = time.monotonic() + 240
    while "True" not in lab.run(scene.platform.master, READY.format(primary)).stdout:
        assert time.monotonic() < until, f"{primary} does not get ready"
        time.sleep(3)
    scene.away.discard(primary)
    time.sleep(10)  # what its kubelet finds of before is there to be seen
    scene.probe.stop(again)
    scene.until(again, lambda r: r.phase == "finished", 90)
    scene.agree()
    found.came = f"{took.words}; its runs were lost after {report:.0f} s, one began again on {standby}"
    assert took.seconds < LIMIT_S


READY = "kubectl get node {} -o jsonpath='{{.status.conditions[?(@.type==\"Ready\")].status}}'"


def power(node, state):
    assert avadm("lab", "power", node, state).returncode == 0


def on(scene, node, retries):
    """Start a long run with a GPU that lands on a node, without naming the node: it has to go elsewhere later."""
    others = []
    try:
        while True:
            run = scene.start(
                f"long-{retries}-{len(others)}", ("sleep", "900"), roles=[{"each": CARD}], retries=retries
            )
            scene.until(run, lambda r: r.state == "running", 120)
            if {p.node for p in scene.probe.pods(run)} == {node}:
                return run
            others.append(run)
            assert len(others) < 4, f"no run landed on {node}"
    finally:
        for other in others:
            scene.probe.stop(other)
