"""What a node changes on Nodes, and what no pod asks of Calico: a real API server, the webhook of the role, our own program."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from bench.control_plane import HYPERKUBE, ControlPlane, free_port, ready
from tests.platform.built import built
from tests.unit.fakes.roles import ROLES, template

ADMISSION = "NamespaceLifecycle,NodeRestriction,ValidatingAdmissionWebhook"
OWN = {"kubernetes.io/hostname": "w1", "beta.kubernetes.io/os": "linux"}
TAINTS = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
MARKED = {**OWN, "avadm.io/pool": "gpu", "node-role.kubernetes.io/worker": ""}


class Cluster:
    """An API server with its webhook."""

    def __init__(self, plane):
        self.plane = plane
        self.node = plane.account("system:node:w1", "system:nodes")

    def ctl(self, who, *words, given=None):
        argv = [str(HYPERKUBE), "kubectl", "--kubeconfig", str(who), *words]
        text = json.dumps(given) if given else None
        return subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=60)

    def admin(self, *words, given=None):
        done = self.ctl(self.plane.kubeconfig, *words, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def register(self, labels, taints=()):
        meta = {"name": "w1", "labels": labels}
        object_ = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"taints": list(taints)}}
        return self.ctl(self.node, "create", "--validate=false", "-f", "-", given=object_)

    def seen(self):
        return json.loads(self.admin("get", "node", "w1", "-o", "json"))


@pytest.fixture(scope="module")
def cluster():
    if reason := ready():
        pytest.skip(reason)
    with ControlPlane(Path("/dev/shm"), admission=ADMISSION) as plane:
        port = free_port()
        certificate, key = plane.authority.issue("admission", "avadm:admission")
        authority = plane.folder / "ca.crt"
        # fmt: off
        plane.spawn("admission", [
            str(built("admission") / "avadm-admission"), "-listen", f"127.0.0.1:{port}",
            "-certificate", str(certificate), "-key", str(key),
            "-pods", "10.88.0.0/16", "-api", plane.server, "-authority", str(authority),
        ])
        # fmt: on
        found = Cluster(plane)
        text = template(
            "kube_admission/templates/webhook.yml.j2",
            kube_admission_port=port,
            kube_admission_ca_certificate=authority.read_text(),
        )
        rights = [d for d in yaml.safe_load_all((ROLES / "kube_apiserver/files/rbac.yml").read_text()) if d]
        rights = [d for d in rights if d["metadata"]["name"] == "avadm:admission"]
        for one in [*rights, *(d for d in yaml.safe_load_all(text) if d)]:
            found.admin("apply", "-f", "-", given=one)
        # The API server reads its webhooks once a second.
        for _ in range(100):
            refused = found.register({**OWN, "probe": "x"})
            if refused.returncode:
                break
            found.admin("delete", "node", "w1")
        yield found


@pytest.fixture
def worker(cluster):
    """Register the node as kubelet does, and label it as the installer does through a master."""
    cluster.admin("delete", "node", "w1", "--ignore-not-found")
    made = cluster.register(OWN, TAINTS)
    assert made.returncode == 0, made.stderr
    cluster.admin("label", "node", "w1", "avadm.io/pool=gpu", "node-role.kubernetes.io/worker=")
    assert cluster.seen()["metadata"]["labels"] == MARKED
    return cluster


def test_a_node_registers_with_its_taints_and_not_with_a_pool_of_its_choice(cluster):
    cluster.admin("delete", "node", "w1", "--ignore-not-found")
    refused = cluster.register(MARKED)
    assert refused.returncode
    assert "a node may not change it" in refused.stderr


SLOW = pytest.mark.slow  # each takes a node of its own


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"labels": {"avadm.io/pool": "cpu"}}},
        pytest.param({"metadata": {"labels": {"node-role.kubernetes.io/worker": None}}}, marks=SLOW),
        pytest.param({"metadata": {"labels": {"node-role.kubernetes.io/ingress": ""}}}, marks=SLOW),
        pytest.param({"metadata": {"labels": {"kubernetes.io/hostname": "m1"}}}, marks=SLOW),
        {"metadata": {"annotations": {"avadm.io/kept": "{}"}}},
        {"spec": {"taints": None}},
    ],
    ids=json.dumps,
)
def test_a_node_changes_neither_its_labels_nor_its_taints(worker, patch):
    done = worker.ctl(worker.node, "patch", "node", "w1", "--type=merge", "-p", json.dumps(patch))
    assert done.returncode, done.stdout
    assert "nodes.admission.avadm.io" in done.stderr
    now = worker.seen()
    assert now["metadata"]["labels"] == MARKED
    assert now["spec"]["taints"] == TAINTS


def status(worker, change):
    """Send a heartbeat as kubelet does: a patch of the status, which takes labels too."""
    path = f"{worker.plane.server}/api/v1/nodes/w1/status"
    certificate = worker.plane.folder / "system:node:w1"
    argv = ["curl", "-sS", "--cacert", str(worker.plane.folder / "ca.crt")]
    argv += ["--cert", f"{worker.plane.folder}/node.crt", "--key", f"{certificate}.key", "-X", "PATCH"]
    argv += ["-H", "Content-Type: application/merge-patch+json", "-d", json.dumps(change), path]
    # curl takes what follows a colon for the key's password.
    (worker.plane.folder / "node.crt").write_bytes(Path(f"{certificate}.crt").read_bytes())
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout)


def test_nor_by_its_sign_of_life_which_goes_on(worker):
    alive = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
    assert status(worker, alive)["kind"] == "Node"
    refused = status(worker, {**alive, "metadata": {"labels": {"avadm.io/pool": "cpu"}}})
    assert refused["kind"] == "Status"
    assert "label avadm.io/pool" in refused["message"]
    assert worker.seen()["metadata"]["labels"] == MARKED


def test_a_node_does_not_come_back_as_another(worker):
    done = worker.ctl(worker.node, "delete", "node", "w1")
    assert done.returncode
    assert "a node may not delete Nodes" in done.stderr
    assert worker.seen()["metadata"]["labels"] == MARKED


def test_a_node_tells_what_it_can_mount(worker):
    done = worker.ctl(worker.node, "label", "node", "w1", "avadm.io/cephfs=mounted", "avadm.io/rbd=yes")
    assert done.returncode == 0, done.stderr
    done = worker.ctl(worker.node, "annotate", "node", "w1", "avadm.io/local-volumes={}")
    assert done.returncode == 0, done.stderr


def test_no_pod_chooses_its_address_by_any_creator(cluster):
    controller = cluster.plane.account(
        "system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccounts:kube-system"
    )
    notes = {"cni.projectcalico.org/ipAddrs": '["10.250.0.1"]'}
    spec = {"containers": [{"name": "c", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": notes}, "spec": spec}
    refused = cluster.ctl(controller, "create", "-n", "default", "--validate=false", "-f", "-", given=pod)
    assert refused.returncode, refused.stdout
    assert "pods.admission.avadm.io" in refused.stderr
    pod["metadata"]["annotations"] = {"cni.projectcalico.org/podIP": "10.88.0.9/32"}
    made = cluster.ctl(controller, "create", "-n", "default", "--validate=false", "-f", "-", given=pod)
    assert made.returncode == 0, made.stderr
