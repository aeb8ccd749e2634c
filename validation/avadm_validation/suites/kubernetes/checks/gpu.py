"""K-GPU: a pod has exactly the GPUs that it asked for, and none where it asked for none."""

from __future__ import annotations

from avadm_validation.protocol.model import Metric, Verdict
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster
from avadm_validation.suites.storage.context import Context, Outcome
from avadm_validation.suites.storage.measure import metric

ID = "K-GPU"
TITLE = ("Kubernetes: pods see the GPUs they asked for alone", "Kubernetes:容器只可见所申请的 GPU")
NEEDS = "gpu"
RESOURCE = "nvidia.com/gpu"
ASKED = 2


def run(ctx: Context) -> Outcome:
    """On each GPU node look from a pod that asked for two, and from one that asked for none but pretends."""
    cluster = Cluster(ctx)
    kube, made = cluster.kube, []
    for node in kube.gpu_nodes:
        there = {
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"operator": "Exists"}],
        }
        two = o.container(kube, "look", ["gpus"], resources={"limits": {RESOURCE: str(ASKED)}})
        none = o.container(kube, "look", ["gpus"], env={"NVIDIA_VISIBLE_DEVICES": "all"})
        for name, container in ((f"gpus-{node}", two), (f"none-{node}", none)):
            made.append(name)
            cluster.apply(o.pod(o.SPACE, name, {"app": "gpu"}, o.spec([container], **there)))
    ctx.step("pods look at their GPUs", len(made))

    def phases() -> dict[str, str]:
        found = cluster.quietly(f"get pods -n {o.SPACE} -l app=gpu").get("items", [])
        return {p["metadata"]["name"]: p["status"].get("phase", "") for p in found}

    over = {"Succeeded", "Failed"}
    cluster.wait(
        lambda: len(phases()) == len(made) and set(phases().values()) <= over, float(ctx.params["ready_s"])
    )
    cluster.pods("app=gpu")
    waiting = sorted(n for n, p in phases().items() if p == "Pending")
    if waiting:
        return Outcome(
            method="",
            verdict=Verdict.BLOCKED,
            reasons=[
                f"no room for {', '.join(waiting)}: their nodes have no {ASKED} free GPUs, or offer none"
            ],
            remedy=f"kubectl describe pod -n {o.SPACE}; kubectl get nodes -o yaml shows {RESOURCE} under allocatable.",
        )
    names = " ".join(made)
    logs = cluster.run(f"for p in {names}; do kubectl logs -n {o.SPACE} $p; done", "looks")

    def seen(name: str, titles: tuple[str, str], prefix: str, wanted: int) -> Metric:
        samples = [
            ctx.sample("kube_gpus", {"answers": [logs]}, pod=f"{prefix}-{node}", wanted=wanted)
            for node in kube.gpu_nodes
        ]
        return metric(name, titles, "GPUs", "client", samples)

    return Outcome(
        method=f"on each of {len(kube.gpu_nodes)} GPU nodes a pod with {RESOURCE}: {ASKED}, and one without, with "
        "NVIDIA_VISIBLE_DEVICES=all: device files, what nvidia-smi lists, and which cards the kernel lets a device file of "
        "the container's own making open; the count furthest from what is wanted",
        metrics=[
            seen("asked-two", ("GPUs of a pod that asked for 2", "申请 2 块的容器可见 GPU"), "gpus", ASKED),
            seen("asked-none", ("GPUs of a pod that asked for none", "未申请的容器可见 GPU"), "none", 0),
        ],
        remedy="journalctl -u avadm-gpu-device-plugin and docker's runtime (nvidia-container-runtime) on the node; GPUs of a "
        "pod that asked for none: docs/kubernetes.md, GPUs.",
    )
