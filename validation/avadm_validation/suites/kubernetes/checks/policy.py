"""K-POLICY: a namespace closed by default stays closed to others, and opens to a label alone."""

from __future__ import annotations

import time

from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster
from avadm_validation.suites.storage.context import Context, MeasureError, Outcome
from avadm_validation.suites.storage.measure import metric

ID = "K-POLICY"
TITLE = ("Kubernetes: network policy between namespaces", "Kubernetes:命名空间之间的网络策略")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Ask a pod of another namespace from every node: without a policy, closed, opened to a label."""
    cluster = Cluster(ctx)
    up = cluster.echo()
    clients = [pod for pod, _ in up.values()]
    one = o.spec([o.server(cluster.kube)])
    cluster.apply(o.pod(o.OTHER, "guarded", o.ECHO, one))
    get = f"get pod -n {o.OTHER} guarded"

    def address() -> str:
        status = cluster.quietly(get).get("status", {})
        ready = [s["ready"] for s in status.get("containerStatuses", [])]
        return str(status.get("podIP", "")) if ready == [True] else ""

    if not cluster.wait(lambda: bool(address()), float(ctx.params["ready_s"])):
        raise MeasureError(f"the pod {o.OTHER}/guarded does not run")
    url = f"http://{address()}:{o.PORT}/"
    ask = {"requests": [{"url": url, "times": 2}], "timeout": 2, "threads": 2}

    def asked(name: str) -> str:
        ctx.step(name)
        return cluster.inside(clients, name, "ask", ask)

    settle = float(ctx.params["settle_s"])
    before = asked("without-policy")
    cluster.apply(o.closed(o.OTHER))
    ctx.step("the policy takes hold", seconds=settle)
    time.sleep(settle)
    closed = asked("closed")
    cluster.apply(o.closed(o.OTHER, {"namespaceSelector": {"matchLabels": {o.LABEL: "allowed"}}}))
    cluster.ctl(f"label --overwrite namespace {o.SPACE} {o.LABEL}=allowed", "label")
    time.sleep(settle)
    opened = asked("opened")

    def share(name: str, titles: tuple[str, str], extract: str, answers: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        inputs = {"wanted": [cluster.wanted], "answers": [answers]}
        return metric(name, titles, "ratio", "cluster", [ctx.sample(extract, inputs, url=url)])

    return Outcome(
        method=f"each node's pod in {o.SPACE} asks one pod in {o.OTHER}: without a policy, {settle:g} s after all ingress is "
        "denied there, and after it is allowed from namespaces with a label that the askers' namespace gets",
        metrics=[
            share(
                "open-before",
                ("nodes let in without a policy", "无策略时可达的节点比例"),
                "kube_reached",
                before,
            ),
            share(
                "denied", ("nodes kept out by default deny", "默认拒绝生效的节点比例"), "kube_refused", closed
            ),
            share("allowed", ("nodes let in by the label", "按标签放行的节点比例"), "kube_reached", opened),
        ],
        remedy="journalctl -u calico-node on the pod's node; the kube-controllers on the masters write the policies.",
    )
