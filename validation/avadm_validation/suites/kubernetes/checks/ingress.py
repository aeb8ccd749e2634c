"""K-INGRESS: HTTP and websockets from outside the cluster reach pods by host name, through the address for it."""

from __future__ import annotations

import json

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

ID = "K-INGRESS"
TITLE = ("Kubernetes: HTTP and websockets from outside by host name", "Kubernetes:外部按主机名访问")
NEEDS = "ingress"


def run(ctx: Context) -> Outcome:
    """Ask through the address from a node that is not part of the cluster."""
    cluster = Cluster(ctx)
    kube, many = cluster.kube, int(ctx.params["requests"])
    if not kube.outside:
        return cluster.no_outside_client("Ask from another machine: curl -H 'Host: …' at the address.")
    up = cluster.echo()
    cluster.streamers()
    host, url = f"avadm-accept.{kube.domain}", f"http://{kube.ingress}/"
    other, streams = f"no-such-host.{kube.domain}", f"avadm-accept-stream.{kube.domain}"
    cluster.apply(o.ingress(host), o.ingress(streams, "stream"))
    ctx.step("ask from outside", many)

    def job(times: int) -> dict[str, object]:
        requests = [{"url": url, "host": host, "times": times}, {"url": url, "host": other}]
        return {"requests": requests, "timeout": 5, "threads": 4}

    socket = {"kind": "websocket", "address": kube.ingress, "port": 80, "host": streams}

    def open_now() -> bool:
        reply = cluster.outside_quietly("kubeagent.py", "ask", job(1), 30)
        return '"status": 200' in reply and '"echoed": 3' in cluster.outside_quietly(
            "kubestream.py", "ask", [socket], 30
        )

    if not cluster.wait(open_now, float(ctx.params["open_s"])):
        ctx.tell("no answer yet")
    answers = cluster.outside("kubeagent.py", "ask", job(many), 60 + 5 * many)
    # Each session lasts some seconds: a way in that ends what is silent for a moment would end it.
    sessions = {
        **socket,
        "times": int(ctx.params["sessions"]),
        "messages": 5,
        "pause_s": ctx.params["pause_s"],
        "timeout": 5,
    }
    report = cluster.outside("kubestream.py", "ask", [sessions], 120 + 10 * int(ctx.params["sessions"]))
    inputs = {
        "wanted": [ctx.rec.save("outside.json", json.dumps([kube.outside]))],
        "answers": [answers],
        "pods": [cluster.pods()],
    }
    return Outcome(
        method=f"{many} connections from {kube.outside}, which is not part of the cluster, to {url} with the host name {host} "
        f"({len(up)} endpoints), one with the name {other}, which no Ingress has, and {sessions['times']} websockets to "
        f"{streams}, each of which must bring back 5 messages, {ctx.params['pause_s']:g} s apart; the way in was given "
        f"{ctx.params['open_s']} s to learn of the new Ingress",
        metrics=[
            metric(
                "answered",
                ("every request was answered by a pod (1 = yes)", "全部请求得到应答"),
                "ratio",
                "cluster",
                [ctx.sample("kube_reached", inputs, url=url, host=host)],
            ),
            metric(
                "unknown-host",
                ("an unknown host name gets 404 (1 = yes)", "未知主机名返回 404"),
                "ratio",
                "cluster",
                [ctx.sample("kube_status", inputs, url=url, host=other, status=404)],
            ),
            metric(
                "endpoints",
                ("share of endpoints that answered", "应答的端点比例"),
                "ratio",
                "cluster",
                [ctx.sample("kube_endpoints", inputs, url=url)],
            ),
            metric(
                "websocket",
                ("websockets that brought back every message", "WebSocket 会话完整的比例"),
                "ratio",
                "cluster",
                [ctx.sample("kube_streams", {"answers": [report]}, kind="websocket", port=80, messages=5)],
            ),
        ],
        remedy=f"On the nodes with the role ingress: which holds {kube.ingress} (ip address), systemctl status traefik.",
    )
