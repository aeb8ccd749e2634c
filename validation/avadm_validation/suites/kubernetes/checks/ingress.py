"""K-INGRESS: HTTP from outside the cluster reaches pods by host name, through the address for it."""

from __future__ import annotations

import json
import shlex

from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster
from avadm_validation.suites.storage.context import Context, MeasureError, Outcome
from avadm_validation.suites.storage.measure import metric

ID = "K-INGRESS"
TITLE = ("Kubernetes: HTTP from outside by host name", "Kubernetes:外部按主机名访问")
NEEDS = "ingress"


def run(ctx: Context) -> Outcome:
    """Ask through the address from a node that is not part of the cluster."""
    cluster = Cluster(ctx)
    kube, many = cluster.kube, int(ctx.params["requests"])
    if not kube.outside:
        return Outcome(
            method="",
            verdict=Verdict.BLOCKED,
            reasons=["every node is part of the cluster: nothing can ask from outside"],
            remedy="Ask from another machine: curl -H 'Host: …' at the address.",
        )
    up = cluster.echo()
    host, url = f"avadm-accept.{kube.domain}", f"http://{kube.ingress}/"
    other = f"no-such-host.{kube.domain}"
    cluster.apply(o.ingress(host))
    ctx.step("ask from outside", many)

    def ask(times: int) -> str:
        requests = [{"url": url, "host": host, "times": times}, {"url": url, "host": other}]
        job = {"requests": requests, "timeout": 5, "threads": 4}
        return ctx.tool("kubeagent.py", "ask", json.dumps(job))

    def open_now() -> bool:
        done = ctx.rec.fleet.run(kube.outside, f"export NODE=outside; {ask(1)}", timeout=30)
        return done.rc == 0 and '"status": 200' in done.stdout

    if not cluster.wait(open_now, float(ctx.params["open_s"])):
        ctx.tell("no answer yet")
    line = f"export NODE={shlex.quote(kube.outside)}; {ask(many)}"
    done = ctx.rec.run(kube.outside, line, "outside", timeout=60 + 5 * many)
    if done.rc:
        raise MeasureError(f"{kube.outside}: {done.stderr.strip() or done.error}")
    inputs = {
        "wanted": [ctx.rec.save("outside.json", json.dumps([kube.outside]))],
        "answers": [ctx.rec.last(kube.outside)],
        "pods": [cluster.pods()],
    }
    return Outcome(
        method=f"{many} connections from {kube.outside}, which is not part of the cluster, to {url} with the host name {host} "
        f"({len(up)} endpoints), one with the name {other}, which no Ingress has; the way in was given "
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
        ],
        remedy=f"On the nodes with the role ingress: which holds {kube.ingress} (ip address), systemctl status traefik.",
    )
