"""K-QUOTA: a namespace gets what its quota says and no more; what is deleted is given back."""

from __future__ import annotations

from typing import Any

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.checks.gpu import RESOURCE
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-QUOTA"
TITLE = ("Kubernetes: a namespace's quota is kept", "Kubernetes:命名空间配额生效")
NEEDS = ""
NAME = "accept"
HARD = {"requests.cpu": "200m", "requests.memory": "192Mi"}
FITS = {"fits-1": {"cpu": "100m", "memory": "64Mi"}, "fits-2": {"cpu": "100m", "memory": "64Mi"}}
COUNTED = "requests.cpu=200m,requests.memory=128Mi"
BEYOND: dict[str, dict[str, str]] = {
    "over-cpu": {"cpu": "10m", "memory": "0"},
    "over-memory": {"cpu": "0", "memory": "128Mi"},
    "says-nothing": {},
}
WORDS = {
    "over-cpu": f"exceeded quota: {NAME}|requests.cpu",
    "over-memory": f"exceeded quota: {NAME}|requests.memory",
    "says-nothing": f"failed quota: {NAME}|must specify",
}
NO_SCHEDULER = "avadm-accept-nobody"
"""Scheduler of pods that shall never run: a quota counts what is asked for."""


def run(ctx: Context) -> Outcome:
    """Ask for pods within a quota and beyond it, then delete them."""
    cluster = Cluster(ctx)
    ctx.step("ask for pods within a quota and beyond it", len(FITS) + len(BEYOND))
    wanted = {**FITS, **BEYOND}
    pods = [_pod(cluster.kube, name, {"requests": asks}) for name, asks in wanted.items()]
    none = {"requests": {"cpu": "0", "memory": "0"}, "limits": {RESOURCE: "1"}}
    limit = ctx.limit(ctx.params["freed_s"])
    job = {
        "namespace": o.QUOTA,
        "quotas": [_quota(NAME, HARD), _quota("gpus", {f"requests.{RESOURCE}": "0"})],
        "pods": [*pods, _pod(cluster.kube, "gpu", none)],
        "limit_s": limit,
    }
    inputs = {"doc": [cluster.limits("quota", job, 3 * limit + 60)]}

    def one(name: str, titles: tuple[str, str], unit: str, extract: str, **params: str) -> Metric:
        return metric(name, titles, unit, "cluster", [ctx.sample(extract, inputs, **params)])

    def refused(name: str, titles: tuple[str, str]) -> Metric:
        return one(name, titles, "bool", "kube_refused_for", pod=name, words=WORDS[name])

    return Outcome(
        method=f"in a namespace of its own with the quota {', '.join(f'{k} {v}' for k, v in HARD.items())}: two pods that fit, "
        "one too many of each, one that does not say what it takes; the quota's own count of it, and how long after the pods "
        "are deleted it is 0. The pods are never scheduled. Beside it a quota of 0 GPUs and a pod that asks for one: "
        "Kubernetes 1.9 does not count GPUs, so what comes of it is shown, not judged",
        metrics=[
            one(
                "admitted",
                ("share of the pods within the quota that were admitted", "配额内容器组的准入比例"),
                "ratio",
                "kube_admitted",
                names=",".join(FITS),
            ),
            refused("over-cpu", ("beyond the quota of cpu: refused (1 = yes)", "超出 CPU 配额被拒绝")),
            refused("over-memory", ("beyond the quota of memory: refused (1 = yes)", "超出内存配额被拒绝")),
            refused("says-nothing", ("without requests: refused (1 = yes)", "未声明用量被拒绝")),
            one(
                "counted",
                ("the quota counts what was admitted (1 = yes)", "配额计数正确"),
                "bool",
                "kube_used",
                wanted=COUNTED,
            ),
            one("freed", ("deletion to a count of 0", "删除后配额归还"), "s", "kube_freed_s"),
            one(
                "gpu-admitted",
                (
                    "share of the pods beyond a quota of GPUs that were admitted",
                    "超出 GPU 配额仍被准入的比例",
                ),
                "ratio",
                "kube_admitted",
                names="gpu",
            ),
        ],
        remedy="The API server needs the admission plug-in ResourceQuota, last in its list; the controller-manager counts: "
        f"kubectl describe quota -n {o.QUOTA}, journalctl -u kube-controller-manager.",
    )


def _quota(name: str, hard: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": o.QUOTA},
        "spec": {"hard": hard},
    }


def _pod(kube: KubeTarget, name: str, resources: dict[str, Any]) -> dict[str, Any]:
    one = o.container(kube, "asks", ["beat"], resources=resources)
    return o.pod(o.QUOTA, name, {"app": "quota"}, o.spec([one], schedulerName=NO_SCHEDULER))
