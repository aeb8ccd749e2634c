"""K-PODS: a pod on each node, each pair of nodes exchanges a request, pods start quickly."""

from __future__ import annotations

import json
import shlex

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Series
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-PODS"
TITLE = ("Kubernetes: pods on every node, every pair, start times", "Kubernetes:各节点容器组互通与启动时间")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Let each node's pod ask every other's; then start pods one after another."""
    cluster = Cluster(ctx)
    up = cluster.echo()
    ctx.step("each pod asks every other")
    urls = [{"url": f"http://{ip}:{o.PORT}/"} for _, ip in up.values()]
    job = {"requests": urls, "timeout": 5, "threads": 8}
    answers = cluster.inside([pod for pod, _ in up.values()], "pairs", "ask", job)
    inputs = {"wanted": [cluster.wanted], "pods": [cluster.pods()]}
    started = _starts(cluster)
    values = [s["running_s"] for s in json.loads(ctx.read(started))["starts"] if s["running_s"]]
    times = {q: ctx.sample("kube_starts", {"doc": [started]}, q=q) for q in (0.99, 0.5)}
    p = ctx.params
    return Outcome(
        method=f"a DaemonSet's pod on each of {len(cluster.kube.nodes)} nodes, one request between each ordered pair of "
        f"different nodes; then {p['pods']:g} pods of one container made every {p['gap_s']:g} s"
        f"{', each after the one before runs' if p['flight'] else ''}, image there before, "
        "timed from the request to the API until a watch shows Running; p99 by nearest rank (of fewer than 100 "
        "pods it is the slowest)",
        metrics=[
            metric(
                "missing",
                ("nodes without a ready pod", "没有就绪容器组的节点"),
                "nodes",
                "cluster",
                [ctx.sample("kube_without_pod", inputs)],
            ),
            metric(
                "failed-pairs",
                ("ordered pairs of nodes without an answer", "不通的节点对"),
                "pairs",
                "cluster",
                [ctx.sample("kube_failed_pairs", {**inputs, "answers": [answers]})],
            ),
            metric("start-p99", ("start of a pod, p99", "启动时间 p99"), "s", "cluster", [times[0.99]]),
            metric("start-p50", ("start of a pod, median", "启动时间中位数"), "s", "cluster", [times[0.5]]),
            metric(
                "never-ran",
                ("pods that never ran", "未能运行的容器组"),
                "pods",
                "cluster",
                [ctx.sample("kube_never_ran", {"doc": [started]})],
            ),
            metric(
                "started",
                ("pods that were timed", "计时的容器组数"),
                "pods",
                "cluster",
                [ctx.sample("kube_count", {"doc": [started]}, key="starts")],
            ),
        ],
        series=[
            Series(
                name="start",
                group="start of pods",
                kind="time",
                x_label="pod",
                x_unit="",
                y_label="creation to running",
                y_unit="s",
                points=[(float(i), v) for i, v in enumerate(values)],
            )
        ],
        remedy=f"kubectl get events -n {o.SPACE}; a pair without answer: `ip route` on both nodes, journalctl -u calico-node.",
    )


def _starts(cluster: Cluster) -> str:
    ctx, p = cluster.ctx, cluster.ctx.params
    seconds, limit = float(p["pods"]) * float(p["gap_s"]), ctx.limit(p["limit_s"])
    ctx.step("start pods", int(p["pods"]), seconds)
    one = o.spec([o.container(cluster.kube, "start", ["serve", str(o.PORT)])])
    manifest = json.dumps(o.pod(o.SPACE, "start", {"app": "start"}, one))
    tool = ctx.tool(
        "kubeload.py",
        "starts",
        namespace=o.SPACE,
        pods=int(p["pods"]),
        gap=p["gap_s"],
        flight=int(p["flight"]),
        limit=limit,
    )
    line = f"printf %s {shlex.quote(manifest)} | sh -c {shlex.quote(tool)}"
    return cluster.run(line, "starts", timeout=seconds + limit + 120)
