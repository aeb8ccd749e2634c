"""K-EVICT: evictions keep to a disruption budget; every kubelet keeps back and evicts as the site file says."""

from __future__ import annotations

from typing import Any

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster
from avadm_validation.suites.kubernetes.extract import quantity

ID = "K-EVICT"
TITLE = ("Kubernetes: evictions keep to budgets; reservations of nodes", "Kubernetes:驱逐遵守预算,节点预留")
NEEDS = ""
NAME = "evict"
LABELS = {"app": NAME}


def run(ctx: Context) -> Outcome:
    """Evict pods whose budget lets one be missing; read what each kubelet runs with."""
    cluster = Cluster(ctx)
    kube, limit = cluster.kube, ctx.limit(ctx.params["evict_s"])
    ctx.step("read what every kubelet keeps back", len(kube.nodes))
    answering = ctx.limit(30 + len(kube.nodes))
    kept = cluster.limits("kubelets", {"nodes": list(kube.nodes), "limit_s": answering}, 60 + answering)
    nodes = cluster.ctl("get nodes -o json", "nodes")
    ctx.step("evict pods")
    job = {
        "namespace": o.SPACE,
        "label": "app%3D" + NAME,
        "deployment": _deployment(kube),
        "budget": _budget(),
        "limit_s": limit,
    }
    doc = cluster.limits("evict", job, limit + 90)

    def of_budget(name: str, titles: tuple[str, str], unit: str, extract: str, **params: str) -> Metric:
        return metric(name, titles, unit, "cluster", [ctx.sample(extract, {"doc": [doc]}, **params)])

    def of_nodes(name: str, titles: tuple[str, str], extract: str, group: str, **params: str) -> Metric:
        inputs = {"wanted": [cluster.wanted], group: [kept if group == "kept" else nodes]}
        return metric(name, titles, "nodes", "cluster", [ctx.sample(extract, inputs, **params)])

    return Outcome(
        method=f"two pods and a disruption budget that lets one be missing: one is evicted, at once the other (refused, and it "
        "runs on), and that again when the budget gives; how many are ready meanwhile. Of each of "
        f"{len(kube.nodes)} nodes: kubelet's running configuration (configz) against the site file's reservations and eviction "
        "thresholds, what it offers pods, whether it is short of memory or disk. No node is brought under pressure, tainted "
        "or drained: that would evict others' pods",
        metrics=[
            of_budget(
                "granted",
                ("evictions granted while the budget gives, of 2", "预算内获准的驱逐"),
                "evictions",
                "kube_evictions",
            ),
            of_budget(
                "refused",
                ("eviction beyond the budget refused, its pod runs on (1 = yes)", "超出预算的驱逐被拒绝"),
                "bool",
                "kube_eviction_refused",
                budget=NAME,
            ),
            of_budget(
                "least-ready", ("least number of ready pods", "最少就绪容器组数"), "pods", "kube_least_ready"
            ),
            of_budget(
                "stayed", ("evicted pods that stayed", "未离开的被驱逐容器组"), "pods", "kube_not_left"
            ),
            of_nodes(
                "other-limits",
                ("nodes whose kubelet runs with other limits", "驱逐阈值或预留不符的节点"),
                "kube_other_limits",
                "kept",
                **{k: ",".join(f"{a}={b}" for a, b in v.items()) for k, v in kube.kubelet.items()},
            ),
            of_nodes(
                "allocatable",
                ("nodes that offer pods what they should keep back", "可分配量不符的节点"),
                "kube_allocatable",
                "nodes",
                **_kept(kube),
            ),
            of_nodes("pressed", ("nodes short of memory or disk", "资源紧张的节点"), "kube_pressed", "nodes"),
            of_budget("gone-in", ("eviction to gone, the slowest", "驱逐至离开"), "s", "kube_gone_s"),
        ],
        remedy="Limits: components.kubernetes in the site file, then `avadm apply nodes`; kubectl describe node. Evictions: "
        f"kubectl describe poddisruptionbudget,pods -n {o.SPACE}, journalctl -u kube-controller-manager.",
    )


def _kept(kube: KubeTarget) -> dict[str, str]:
    """Return how much cpu and memory a node keeps back altogether; of memory also what it evicts at."""
    parts = [kube.kubelet["systemReserved"], kube.kubelet["kubeReserved"]]
    cpu = sum(quantity(p["cpu"]) for p in parts)
    memory = sum(quantity(p["memory"]) for p in parts) + quantity(
        kube.kubelet["evictionHard"]["memory.available"]
    )
    return {"cpu": f"{cpu * 1000:.0f}m", "memory": f"{memory:.0f}"}


def _deployment(kube: KubeTarget) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": o.spec([o.server(kube)])}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": o.SPACE},
        "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template},
    }


def _budget() -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": NAME, "namespace": o.SPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}},
    }
