"""K-LB: a Service of the type LoadBalancer is reached by TCP from outside, at an address of its own."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-LB"
TITLE = (
    "Kubernetes: TCP from outside at a service's own address",
    "Kubernetes:外部经负载均衡地址访问 TCP 服务",
)
NEEDS = "balancer"
SSH = 22
"""Port of the service: the nodes' sshd listens there too, and must not answer for it."""
KUBELET = 10250
"""A port that is no service's, where every node's kubelet listens."""


def run(ctx: Context) -> Outcome:
    """Ask for an address, open connections to it from outside, and see that it is gone with the service."""
    cluster = Cluster(ctx)
    kube, many = cluster.kube, int(ctx.params["sessions"])
    if not kube.outside:
        return cluster.no_outside_client("Ask from another machine: nc ADDRESS 22.")
    cluster.streamers()
    ports = [{"port": SSH, "targetPort": o.STREAM_PORTS["tcp"]}]
    cluster.apply(o.service("outside", selector=o.STREAM, ports=ports, type="LoadBalancer"))
    get = f"get service -n {o.SPACE} outside"

    def address() -> str:
        found = cluster.quietly(get).get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
        return str(found[0].get("ip", ""))

    ctx.step("a service gets its address")
    cluster.wait(lambda: bool(address()), float(ctx.params["open_s"]))
    service = cluster.ctl(f"{get} -o json", "service")
    to = {"kind": "tcp", "address": address() or "0.0.0.0", "port": SSH}  # noqa: S104  no server answers there

    def connected(word: str) -> bool:
        return f'"connected": {word}' in cluster.outside_quietly(
            "kubestream.py", "ask", [{**to, "messages": 0}], 30
        )

    cluster.wait(lambda: connected("true"), float(ctx.params["open_s"]))
    ctx.step("connections from outside", many)
    sessions = {**to, "times": many, "messages": 5, "pause_s": ctx.params["pause_s"], "timeout": 5}
    closed = {**to, "port": KUBELET, "timeout": 3}
    report = cluster.outside("kubestream.py", "ask", [sessions, closed], 120 + 10 * many)
    pods = cluster.pods("app=stream")
    cluster.ctl(f"delete service -n {o.SPACE} outside", "delete")
    cluster.wait(lambda: connected("false"), float(ctx.params["open_s"]))
    after = cluster.outside("kubestream.py", "ask", [{**to, "timeout": 3}], 60)

    def one(name: str, titles: tuple[str, str], extract: str, raw: str, **params: float | str) -> Metric:
        inputs = {"doc": [raw]} if extract == "kube_in_range" else {"answers": [raw], "pods": [pods]}
        return metric(name, titles, "ratio", "cluster", [ctx.sample(extract, inputs, **params)])

    first, last = kube.balancer
    stream: dict[str, float | str] = {"kind": "tcp", "port": SSH}
    return Outcome(
        method=f"a service of the type LoadBalancer for 2 pods; from {kube.outside}, which is not part of the cluster, {many} "
        f"connections one after another to port {SSH} of its address, each of which must bring back 5 messages, "
        f"{ctx.params['pause_s']:g} s apart; one to port {KUBELET} there, and one to port {SSH} when the service was deleted: "
        "both must get no connection",
        metrics=[
            one(
                "address",
                (f"the service got one address of {first} to {last} (1 = yes)", "服务获得地址池中的地址"),
                "kube_in_range",
                service,
                first=first,
                last=last,
            ),
            one(
                "tcp",
                ("connections that brought back every message", "TCP 会话完整的比例"),
                "kube_streams",
                report,
                **stream,
                messages=5,
            ),
            one(
                "endpoints",
                ("share of pods that answered", "应答的容器组比例"),
                "kube_stream_pods",
                report,
                **stream,
            ),
            one(
                "closed",
                ("a port of no service gets no connection (1 = yes)", "非服务端口不可连接"),
                "kube_streams_refused",
                report,
                kind="tcp",
                port=KUBELET,
            ),
            one(
                "gone",
                ("no connection without the service (1 = yes)", "服务删除后不可连接"),
                "kube_streams_refused",
                after,
                **stream,
            ),
        ],
        remedy="On the nodes with the role ingress: which holds the address (ip address), systemctl status avadm-balancer "
        "keepalived; kubectl describe service says why one has no address.",
    )
