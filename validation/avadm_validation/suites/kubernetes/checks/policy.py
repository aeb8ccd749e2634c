"""K-POLICY: namespaces closed by default stay closed to each other, and one opens to a label alone."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-POLICY"
TITLE = ("Kubernetes: network policy between namespaces", "Kubernetes:命名空间之间的网络策略")
NEEDS = ""
GUARDED = "guarded"


def run(ctx: Context) -> Outcome:
    """Let two namespaces ask each other: without a policy, both closed, one of them opened to a label."""
    cluster = Cluster(ctx)
    up = cluster.echo()
    address, node = _guarded(cluster)
    url = f"http://{address}:{o.PORT}/"
    others = [f"http://{ip}:{o.PORT}/" for _, ip in up.values()]
    settle = float(ctx.params["settle_s"])

    def there(name: str) -> str:
        """Ask the one guarded pod, and one of the own namespace, from every node."""
        ctx.step(name)
        job = {"requests": [{"url": u, "times": 2} for u in (url, others[0])], "timeout": 2, "threads": 2}
        return cluster.inside([pod for pod, _ in up.values()], name, "ask", job)

    def back(name: str) -> str:
        """Ask every node's pod from the guarded one."""
        ctx.step(name)
        job = {"requests": [{"url": u} for u in others], "timeout": 2, "threads": 32}
        return cluster.inside([GUARDED], name, "ask", job, space=o.OTHER)

    before, back_before = there("without-policy"), back("back-without-policy")
    try:
        cluster.apply(o.closed(o.OTHER), o.closed(o.SPACE, {"podSelector": {}}))
        ctx.step("the policies take hold", seconds=settle)
        time.sleep(settle)
        closed = there("closed")
        cluster.apply(o.closed(o.OTHER, {"namespaceSelector": {"matchLabels": {o.LABEL: "allowed"}}}))
        cluster.ctl(f"label --overwrite namespace {o.SPACE} {o.LABEL}=allowed", "label")
        time.sleep(settle)
        opened, back_closed = there("opened"), back("back-closed")
    finally:
        # What follows needs the pods of this namespace.
        cluster.ctl(f"delete networkpolicy -n {o.SPACE} closed --ignore-not-found", "open-again")
    asker = ctx.rec.save("asker.json", json.dumps([node]))

    def share(
        name: str, titles: tuple[str, str], extract: str, answers: str, urls: Sequence[str] = (url,)
    ) -> Metric:
        inputs = {"wanted": [asker if name.startswith("back") else cluster.wanted], "answers": [answers]}
        return metric(name, titles, "ratio", "cluster", [ctx.sample(extract, inputs, url=u) for u in urls])

    reached, refused = "kube_reached", "kube_refused"
    return Outcome(
        method=f"each node's pod in {o.SPACE} asks one pod in {o.OTHER}, and that one each of them: without a policy, "
        f"{settle:g} s after {o.OTHER} is closed to all and {o.SPACE} to other namespaces, and after {o.OTHER} is opened to "
        f"namespaces with a label that {o.SPACE} gets (the way back stays closed)",
        metrics=[
            share(
                "open-before", ("nodes let in without a policy", "无策略时可达的节点比例"), reached, before
            ),
            share("denied", ("nodes kept out by default deny", "默认拒绝生效的节点比例"), refused, closed),
            share(
                "inside",
                ("nodes let in from their own namespace", "同命名空间内可达的节点比例"),
                reached,
                closed,
                others[:1],
            ),
            share("allowed", ("nodes let in by the label", "按标签放行的节点比例"), reached, opened),
            share(
                "back-before",
                ("pods reached by the other namespace without a policy", "无策略时反向可达"),
                reached,
                back_before,
                others,
            ),
            share(
                "back-denied",
                ("pods kept from the other namespace", "反向默认拒绝生效"),
                refused,
                back_closed,
                others,
            ),
        ],
        remedy="journalctl -u calico-node on the pod's node; the kube-controllers on the masters write the policies.",
    )


def _guarded(cluster: Cluster) -> tuple[str, str]:
    """Start the other namespace's pod; return its address and node."""
    cluster.apply(o.pod(o.OTHER, GUARDED, o.ECHO, o.spec([o.server(cluster.kube)])))
    found: dict[str, str] = {}

    def ready() -> bool:
        pod = cluster.quietly(f"get pod -n {o.OTHER} {GUARDED}")
        status = pod.get("status", {})
        if [s["ready"] for s in status.get("containerStatuses", [])] == [True]:
            found.update(address=str(status.get("podIP", "")), node=str(pod["spec"]["nodeName"]))
        return bool(found.get("address"))

    if not cluster.wait(ready, float(cluster.ctx.params["ready_s"])):
        raise MeasureError(f"the pod {o.OTHER}/{GUARDED} does not run")
    return found["address"], found["node"]
