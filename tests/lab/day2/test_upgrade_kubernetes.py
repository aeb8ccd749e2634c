"""`avadm upgrade kubernetes` on the lab: refused, a worker taken back, killed and continued under load. It leaves 1.10.13."""

import contextlib
import json
import threading
import uuid

import pytest

from avadm.site.load import load
from tests.controls.day_two import GOALS_S, KILLED_AT_STEPS
from tests.lab.day2.interruptions import killed, killed_at_each_step
from tests.lab.day2.test_upgrade import ASKS_THE_API, ONE_HOME
from tests.lab.faults.drive import avadm, healthy, unchanged

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.day2]

TO = "lab-bookworm-kubernetes-1.10"
UPGRADE = ("upgrade", "kubernetes", "--to", TO, *ONE_HOME)
VERB = "upgrade kubernetes"
OLD, NEW = "v1.9.11", "v1.10.13"
TIMEOUT_S = 5400
CTL = "kubectl --kubeconfig /root/.kube/config"
DROP_IN = "/etc/systemd/system/kubelet.service.d/50-test.conf"
# The new program alone does not start.
PLANT = (
    f"mkdir -p {DROP_IN.rpartition('/')[0]} && printf '[Service]\\nExecStartPre=/bin/sh -c "
    f'"/usr/local/bin/hyperkube kubelet --version | grep -qF {OLD}"\\n\' > {DROP_IN} && systemctl daemon-reload'
)
LIFT = f"rm -f {DROP_IN}; systemctl daemon-reload"
PAIR = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: pair}
spec:
  replicas: 2
  selector: {matchLabels: {app: pair}}
  template:
    metadata: {labels: {app: pair}}
    spec:
      # One worker of the lab has no GPUs: pods that a budget keeps find a place beside it on the others alone.
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers: [{name: c, image: "avadm/pause:1", imagePullPolicy: Never}]
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: pair}
spec: {minAvailable: 1, selector: {matchLabels: {app: pair}}}
"""


def good(*argv):
    done = avadm(*argv, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def nodes(lab):
    return json.loads(lab.sh(lab.names("master")[0], f"{CTL} get nodes -o json"))["items"]


def kubelets(lab):
    return {n["metadata"]["name"]: n["status"]["nodeInfo"]["kubeletVersion"] for n in nodes(lab)}


def cordoned(lab):
    return {n["metadata"]["name"] for n in nodes(lab) if n["spec"].get("unschedulable")}


def servers(lab):
    """Return master to the version behind its own address."""
    found = {}
    for master in lab.names("master"):
        server = f"--server=https://{lab.node(master)['address']}:6443"
        found[master] = json.loads(lab.sh(master, f"{CTL} {server} get --raw=/version"))["gitVersion"]
    return found


@pytest.fixture(scope="module")
def old(lab):
    """A lab with Kubernetes 1.9.11, and the program of 1.10.13 in the cache."""
    if not lab.names("master") or set(kubelets(lab).values()) != {OLD}:
        pytest.skip("this lab has no Kubernetes 1.9.11")
    good("artifacts", "build", "kubernetes", "--to", TO)
    healthy(lab)
    return lab


@pytest.fixture(scope="module")
def words(old, drains):
    """The command; runs that other tests or users left end at once."""
    return (*UPGRADE, *drains)


@contextlib.contextmanager
def watched(ready):
    """Ask every second while the block lasts; yields the replies."""
    replies, end = [], threading.Event()

    def ask():
        while not end.wait(1):
            # A master that restarts does not answer.
            with contextlib.suppress(AssertionError, ValueError):
                replies.append(ready())

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield replies
    finally:
        end.set()
        thread.join()


@pytest.fixture
def pair(old):
    """Two pods of which a budget lets one go at a time; yields the number of those that are ready."""
    lab, master = old, old.names("master")[0]
    space = f"upgrade-{uuid.uuid4().hex[:8]}"
    lab.sh(master, f"{CTL} create namespace {space}")
    lab.sh(master, f"{CTL} -n {space} apply -f - <<'END'\n{PAIR}\nEND")
    ready = f"{CTL} -n {space} get deployment pair -o jsonpath='{{.status.readyReplicas}}'"
    yield space, lambda: int(lab.sh(master, ready).strip() or 0)
    lab.sh(master, f"{CTL} delete namespace {space}")


def test_the_plan_rehearses_every_drain_and_changes_nothing(old, words):
    plan = json.loads(good(*words, "--dry-run", "--json"))
    assert plan["refused"] == []
    assert set(plan["nodes"]) == set(kubelets(old)) | {old.names("etcd")[0]}
    assert all(step["undone"] for step in plan["steps"] if "of batch" in step["name"])
    assert set(kubelets(old).values()) == {OLD} and cordoned(old) == set()


def test_a_worker_whose_kubelet_fails_gets_the_former_program_back(old, words, tried):
    worker = next(n for n in old.names("worker") if n not in old.names("master"))
    row = tried(
        "Kubernetes upgraded", f"the new kubelet of {worker} does not start", "exit 1, 1.9.11 runs there"
    )
    old.sh(worker, PLANT)
    try:
        done = avadm(*words, "--yes", timeout=TIMEOUT_S)
    finally:
        old.sh(worker, LIFT)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "upgrade-failed" in done.stdout + done.stderr or "failed" in done.stderr
    assert set(servers(old).values()) == {NEW}
    assert {kubelets(old)[master] for master in old.names("master")} == {NEW}
    assert kubelets(old)[worker] == OLD and cordoned(old) == set()
    assert old.sh(worker, "systemctl is-active kubelet").strip() == "active"
    row.came = "exit 1, the worker has 1.9.11 again and is not cordoned"


def test_it_is_killed_at_each_step_and_continued_under_load(old, words, pair, loads, recorder):
    at_work = loads("SKQ")
    recorder.skip_if_done(VERB, KILLED_AT_STEPS, at_work)
    _space, ready = pair
    # The API of a single master is away while it restarts.
    several = len(old.names("master")) >= 3
    goals, may_fail = (GOALS_S, ()) if several else ({}, ASKS_THE_API)
    with recorder.under(VERB, KILLED_AT_STEPS, at_work, goals, may_fail), watched(ready) as replies:
        assert "[2/" in killed([*words, "--yes"], 2).output
        refused = avadm("apply", "nodes", timeout=TIMEOUT_S)
        reply = " ".join((refused.stdout + refused.stderr).split())
        assert refused.returncode != 0 and f"avadm upgrade kubernetes --to {TO}" in reply, reply
        assert killed_at_each_step([*words, "--yes"]) >= 4
        good(*words, "--yes")
    assert replies and min(replies) >= 1, "the budget's pods were away together"
    assert set(servers(old).values()) == {NEW} and set(kubelets(old).values()) == {NEW}
    assert cordoned(old) == set()


def test_a_second_run_and_an_apply_change_nothing(lab):
    if TO not in (load(lab.site_path).site.profile, *load(lab.site_path).site.component_profiles.values()):
        pytest.skip("Kubernetes was not upgraded")
    good(*UPGRADE, "--yes")
    assert unchanged(lab)


def test_known_holes_are_no_worse_and_gpus_are_offered(lab):
    if set(kubelets(lab).values()) != {NEW}:
        pytest.skip("Kubernetes was not upgraded")
    done = avadm("doctor", "--only", "known-holes,gpu-allocatable", "--json", timeout=300)
    assert {row["status"] for row in json.loads(done.stdout)["checks"]} <= {"ok"}, done.stdout
