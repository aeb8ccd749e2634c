"""K-GPU: a pod has exactly the GPUs that it asked for, and none where it asked for none, whatever its environment says."""

from __future__ import annotations

from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Verdict
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-GPU"
TITLE = ("Kubernetes: pods see the GPUs they asked for alone", "Kubernetes:容器只可见所申请的 GPU")
NEEDS = "gpu"
RESOURCE = "nvidia.com/gpu"
ASKED = 2
ALL = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all"}
OLD = {"CUDA_VERSION": "9.0.176"}
"""What makes a runtime of NVIDIA's give a container all GPUs: the variable, or (nvidia-docker 1's images) that of CUDA alone."""
PODS: dict[str, tuple[int, dict[str, str]]] = {
    "gpus": (ASKED, {}),
    "one": (1, ALL),
    "none": (0, ALL),
    "old": (0, OLD),
}
"""Pod to the GPUs that it asks for and what its environment says; an image's says it to the runtime in the same way."""


def run(ctx: Context) -> Outcome:
    """On each GPU node look from a pod that asked for two, from one that asked for one but pretends, and from two for none."""
    with gpus.held("kubernetes"):
        return _look(ctx)


def _look(ctx: Context) -> Outcome:
    cluster = Cluster(ctx)
    kube, made = cluster.kube, []
    for node in kube.gpu_nodes:
        there = {
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": [{"operator": "Exists"}],
        }
        for kind, (asked, env) in PODS.items():
            resources = {"limits": {RESOURCE: str(asked)}} if asked else {}
            container = o.container(kube, "look", ["gpus"], env=env, resources=resources)
            made.append(f"{kind}-{node}")
            cluster.apply(o.pod(o.SPACE, made[-1], {"app": "gpu"}, o.spec([container], **there)))
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

    def seen(name: str, titles: tuple[str, str], *kinds: str) -> Metric:
        samples = [
            ctx.sample("kube_gpus", {"answers": [logs]}, pod=f"{kind}-{node}", wanted=PODS[kind][0])
            for node in kube.gpu_nodes
            for kind in kinds
        ]
        return metric(name, titles, "GPUs", "client", samples)

    return Outcome(
        method=f"on each of {len(kube.gpu_nodes)} GPU nodes a pod with {RESOURCE}: {ASKED}, one with 1 and "
        "NVIDIA_VISIBLE_DEVICES=all, one without that says the same, and one without that says CUDA_VERSION alone (as images of "
        "nvidia-docker 1): device files, what nvidia-smi lists, and which cards the kernel lets a device file of the "
        "container's own making open; the count furthest from what is wanted",
        metrics=[
            seen("asked-two", ("GPUs of a pod that asked for 2", "申请 2 块的容器可见 GPU"), "gpus"),
            seen(
                "asked-one",
                ("GPUs of a pod that asked for 1 and says all", "申请 1 块却声明全部的容器可见 GPU"),
                "one",
            ),
            seen("asked-none", ("GPUs of pods that asked for none", "未申请的容器可见 GPU"), "none", "old"),
        ],
        remedy="journalctl -u avadm-gpu-device-plugin on the node. GPUs of a pod that did not ask for them: docker's default "
        "runtime there is NVIDIA's (`docker info --format '{{.DefaultRuntime}}'`), which obeys that variable; it has to be runc: "
        "`avadm apply docker`.",
    )
