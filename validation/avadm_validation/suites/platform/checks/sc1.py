"""A-SC1: what needs GPUs goes to nodes with GPUs and nothing else does, each pod by its own role."""

from __future__ import annotations

from typing import Any

from ava.client import ApiError
from ava.domain import labels
from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.platform import platform_client
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import role, spec

ID = "A-SC1"
TITLE = (
    "trainings with GPUs on GPU nodes, all others on CPU nodes",
    "GPU 任务只在 GPU 节点,CPU 任务只在 CPU 节点",
)
NEEDS = "both"
BATCH = 5
"""Trainings of a batch."""
NAMED = "named"
"""Of the training without GPUs that names a GPU node."""
MIX: tuple[dict[str, Any], ...] = (
    {"roles": [role()]},
    {"roles": [role()], "env": {"CUDA_VERSION": "9.0.176"}},
    {"roles": [role(1)]},
    {"roles": [role(1)]},
    {"roles": [role(name="ps"), role(1, ends_run=True)], "distributed": "tensorflow"},
)
"""Two without GPUs, one of which pretends; two with; one whose parameter server needs none and whose worker does."""


def run(ctx: Context) -> Outcome:
    """Start mixed trainings in batches; look where each pod was put, and which kubelet says that it has started it."""
    p = ctx.params
    batches = int(p["batches"])
    with tenant(ctx, [{"gpu": None, "cpu": None, "memory": None}]) as who, gpus.held("platform"):
        journal = Journal(who.user, who.groups[0])
        for batch in range(batches):
            ctx.step(f"{BATCH} mixed trainings", batches)
            _batch(ctx, journal, batch)
        _named(ctx, journal)
        events = _events(ctx, who)
    raw = {"journal": [journal.save(ctx)]}
    return _outcome(ctx, raw, events, batches)


def _batch(ctx: Context, journal: Journal, batch: int) -> None:
    image, limit = platform_client.target(ctx).image, float(ctx.params["place_s"])
    made = []
    for i, one in enumerate(MIX):
        wanted = {r["name"]: r["each"].get("gpu", 0) for r in one["roles"]}
        more = {k: v for k, v in one.items() if k != "roles"}
        job = spec(image, "short", *one["roles"], **more)
        made.append(journal.start(f"mixed-{i}", job, roles=wanted, batch=batch))
    if not journal.reached(made, "succeeded", seconds=limit):
        states = sorted({f"{journal.states[r]} ({journal.runs[r].reason})" for r in made})
        why = f"after {limit:.0f} s: {'; '.join(states)}"
        journal.pods(*made)
        journal.save(ctx)
        raise MeasureError(f"not all trainings have ended, {why}")
    journal.pods(*made)


def _named(ctx: Context, journal: Journal) -> None:
    """Try to get onto a GPU node without GPUs, by naming it."""
    platform = platform_client.target(ctx)
    try:
        made = journal.start(NAMED, spec(platform.image, "short", role(), node=platform.gpu_nodes[0]))
    except ApiError:
        return
    # Let in at submit: it must wait for ever then.
    journal.reached([made], "succeeded", seconds=float(ctx.params["named_s"]))
    journal.pods(made)


def _events(ctx: Context, who: Tenant) -> list[str]:
    """Return the raw file of what kubelets say of the group's pods, which are gone by now."""
    space = labels.namespace(who.groups[0])
    line = f"kubectl --request-timeout=30s get events -n {space} -o json"
    done = ctx.must(ctx.rec.run(platform_client.target(ctx).master, line, "events"))
    return [ctx.rec.save("events.json", done.stdout)]


def _outcome(ctx: Context, raw: dict[str, list[str]], events: list[str], batches: int) -> Outcome:
    platform = platform_client.target(ctx)
    nodes = ",".join(platform.gpu_nodes)

    def one(
        name: str, titles: tuple[str, str], extract: str, more: dict[str, list[str]], **params: str
    ) -> Metric:
        return metric(name, titles, "pods", "cluster", [ctx.sample(extract, {**raw, **more}, **params)])

    misplaced = [ctx.sample("ava_misplaced", raw, batch=i, gpu_nodes=nodes) for i in range(batches)]
    return Outcome(
        method=f"{batches} batches of {BATCH} trainings through the API: two without GPUs, one of which says "
        "CUDA_VERSION, two with one GPU, one whose parameter server needs no GPU and whose "
        f"worker one. Where each pod was put, by its own role, against the site file's GPU nodes ({nodes}); "
        "and which kubelet says, asked of Kubernetes, that it has started it. Then one without GPUs that "
        f"names {platform.gpu_nodes[0]}",
        metrics=[
            metric(
                "misplaced",
                ("pods on a node of the other kind, by batch", "放错节点的容器组"),
                "pods",
                "cluster",
                misplaced,
            ),
            one(
                "started-elsewhere",
                ("pods that a kubelet of the other kind of node has started", "由错误类型节点启动的容器组"),
                "ava_started_elsewhere",
                {"events": events},
                gpu_nodes=nodes,
            ),
            one(
                "let-in",
                ("pods without GPUs on a GPU node that they named", "指名 GPU 节点却无 GPU 的容器组"),
                "ava_let_in",
                {},
                called=NAMED,
            ),
        ],
        remedy="The taint nvidia.com/gpu of GPU nodes: `avadm apply nodes`; pools: `ava cluster show`; who placed "
        "a pod: its schedulerName, kubectl describe pod.",
    )
