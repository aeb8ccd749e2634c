"""A worker's own account on the lab: it may not mark its Node, and its heartbeats and the installer continue."""

import json

import pytest

pytestmark = pytest.mark.lab
AS_NODE = "kubectl --kubeconfig /etc/kubernetes/kubelet.kubeconfig"


def marks(kube, name):
    node = json.loads(kube.ctl(f"get node {name} -o json"))
    return node["metadata"]["labels"], node["spec"].get("taints", [])


def test_a_worker_does_not_change_its_labels_and_stays_ready(kube, lab):
    worker = lab.names("worker")[-1]
    before = marks(kube, worker)
    assert "node-role.kubernetes.io/worker" in before[0]
    for words in (
        "label --overwrite node {} avadm.io/pool=stolen",
        "taint node {} stolen=yes:NoSchedule",
        "delete node {}",
    ):
        done = lab.run(worker, f"{AS_NODE} {words.format(worker)}")
        assert done.returncode != 0, done.stdout
        assert "nodes.admission.avadm.io" in done.stderr
    assert marks(kube, worker) == before
    lab.sh(worker, "systemctl restart kubelet")
    assert kube.ready()[worker]
    assert marks(kube, worker) == before
