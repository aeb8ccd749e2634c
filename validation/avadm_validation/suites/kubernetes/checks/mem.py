"""K-MEM: a container over its memory limit is ended alone."""

from __future__ import annotations

import time

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-MEM"
TITLE = ("Kubernetes: a container over its limit dies alone", "Kubernetes:超限容器单独被终止")
NEEDS = ""
LIMIT_MIB, TAKES_MIB = 64, 256
KERNEL = "dmesg | grep -E 'oom-kill:|as a result of limit' | tail -n 50"
"""What the kernel says of control groups over their limit: since 5.0, and before."""


def run(ctx: Context) -> Outcome:
    """Let one container of a pod take four times its limit beside a neighbour that works."""
    cluster = Cluster(ctx)
    kube = cluster.kube
    cluster.echo()
    limits = {"limits": {"memory": f"{LIMIT_MIB}Mi"}}
    hog = o.container(kube, "hog", ["hog", str(TAKES_MIB)], resources=limits)
    pair = o.spec([hog, o.container(kube, "neighbour", ["beat"])], restartPolicy="Never")
    cluster.apply(o.pod(o.SPACE, "memory", {"app": "memory"}, pair))
    ctx.step(f"a container takes {TAKES_MIB} MiB, its limit is {LIMIT_MIB}")

    def ended() -> bool:
        states = (
            cluster.quietly(f"get pod -n {o.SPACE} memory").get("status", {}).get("containerStatuses", [])
        )
        return any("terminated" in s["state"] for s in states)

    cluster.wait(ended, float(ctx.params["ready_s"]))
    time.sleep(1)
    node = str(cluster.quietly(f"get pod -n {o.SPACE} memory").get("spec", {}).get("nodeName", kube.master))
    reports = [ctx.rec.last(node)] if ctx.rec.run(node, KERNEL, "kernel").stdout else []
    inputs = {"pods": [cluster.ctl(f"get pods -n {o.SPACE} -l 'app in (memory,echo)' -o json", "pods")]}
    inputs |= {"kernel": reports} if reports else {}
    beats = cluster.ctl(f"logs -n {o.SPACE} memory -c neighbour", "beats")
    return Outcome(
        method=f"a pod of two containers: one takes {TAKES_MIB} MiB with a limit of {LIMIT_MIB} MiB, the other works without end "
        "and notes the longest pause; the pods on every node must run on without a restart",
        metrics=[
            metric(
                "killed",
                ("the container was ended for its memory (1 = yes)", "超限容器被终止"),
                "bool",
                "cluster",
                [ctx.sample("kube_killed", inputs, container="hog")],
            ),
            metric(
                "harmed",
                ("other containers that ended or were started again", "受影响的其他容器"),
                "containers",
                "cluster",
                [ctx.sample("kube_harmed", inputs, container="hog")],
            ),
            metric(
                "pause",
                ("longest pause of the neighbour", "邻居最长停顿"),
                "ms",
                "client",
                [ctx.sample("kube_gap", {"answers": [beats]})],
            ),
        ],
        remedy="kubectl describe pod; dmesg on its node says which control group was over its limit.",
    )
