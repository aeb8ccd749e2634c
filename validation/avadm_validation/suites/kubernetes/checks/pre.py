"""Preconditions of the Kubernetes suite: the API answers, the image is on every node, pods may be made."""

from __future__ import annotations

import json
import shlex
from importlib.resources import files

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import IMAGE, Cluster

ID = "K-PRE"
TITLE = ("preconditions: the API answers, the image is on every node", "前提条件:API 可用,镜像就绪")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Ask the API for its version, have the image pulled on every node, make the suite's namespaces."""
    cluster = Cluster(ctx)
    kube = cluster.kube
    for problem in cluster.sweep(float(ctx.params["sweep_s"])):
        raise MeasureError(f"what an earlier run left could not be removed: {problem}")
    version = cluster.ctl("version -o json", "version")
    ctx.shared[IMAGE] = named = _by_digest(ctx, kube)
    image = shlex.quote(named)
    ctx.step("have the image on every node")
    # Starts are measured without pulls, so every node has the image before.
    line = (
        f"docker image inspect {image} >/dev/null 2>&1 || docker pull {image} >&2; "
        f"""docker image inspect --format '{{"id":"{{{{.Id}}}}"}}' {image}"""
    )
    results = ctx.rec.map(dict.fromkeys(kube.nodes, line), "image", timeout=float(ctx.params["pull_s"]))
    images = [ctx.rec.last(n) if results[n].stdout else ctx.rec.save(f"no-image-{n}", "") for n in kube.nodes]
    cluster.prepare()
    _tools(ctx, kube.master, kube.outside)
    return Outcome(
        method=f"kubectl on {kube.master}; docker pull of {named} on {len(kube.nodes)} nodes; namespaces "
        f"{', '.join(o.SPACES)}",
        metrics=[
            metric(
                "api",
                ("the API server is of the version that avadm installs", "API 版本符合"),
                "bool",
                "cluster",
                [
                    ctx.sample(
                        "equals", {"doc": [version]}, path="serverVersion.gitVersion", value=kube.version
                    )
                ],
            ),
            metric(
                "image",
                ("share of nodes that have the pods' image", "已有镜像的节点比例"),
                "ratio",
                "cluster",
                [ctx.sample("kube_image", {"images": images})],
            ),
        ],
        remedy="`avadm apply` brings API, nodes and registry up; `docker pull` on the node says why it has no image.",
    )


def _by_digest(ctx: Context, kube: KubeTarget) -> str:
    """Return the image by the digest that the registry has now; as it is named where no registry has it."""
    image = shlex.quote(kube.image)
    line = f"docker pull {image} >&2; docker image inspect --format '{{{{json .RepoDigests}}}}' {image} || echo '[]'"
    report = ctx.rec.run(kube.master, line, "digest", timeout=float(ctx.params["pull_s"])).stdout.split("\n")
    digests = json.loads(next(filter(None, reversed(report)), "[]"))
    return next((d for d in digests if d.startswith(kube.image.rpartition(":")[0] + "@")), kube.image)


def _tools(ctx: Context, master: str, outside: str) -> None:
    there = {master: ("kubeload.py", "kubelimits.py"), outside: ("kubeagent.py", "kubestream.py")}
    for node, name in ((n, name) for n, names in there.items() for name in names):
        if node:
            ctx.has_tools(node)
            ctx.must(ctx.rec.run(node, ctx.private, "tools"))
            content = (files("avadm_validation") / "tools" / name).read_bytes()
            ctx.must(ctx.rec.fleet.put(node, content, f"{ctx.tools}/{name}", mode=0o755))
