"""K-NODES: every node of the site file is Ready and runs the version that avadm installs."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-NODES"
TITLE = ("Kubernetes: all nodes Ready, one version", "Kubernetes:节点全部就绪,版本一致")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Read the nodes' states."""
    cluster = Cluster(ctx)
    nodes = cluster.ctl("get nodes -o json", "nodes")
    inputs = {"wanted": [cluster.wanted], "nodes": [nodes]}
    version = cluster.kube.version
    return Outcome(
        method=f"kubectl get nodes; wanted are the {len(cluster.kube.nodes)} masters and workers of the site file, "
        f"kubelet and kube-proxy {version}",
        metrics=[
            metric(
                "not-ready",
                ("nodes missing or not Ready", "缺失或未就绪的节点"),
                "nodes",
                "cluster",
                [ctx.sample("kube_not_ready", inputs)],
            ),
            metric(
                "other-version",
                ("nodes of another version", "版本不符的节点"),
                "nodes",
                "cluster",
                [ctx.sample("kube_other_version", inputs, version=version)],
            ),
        ],
        remedy="kubectl describe node NODE; journalctl -u kubelet on it; `avadm apply --limit NODE`.",
    )
