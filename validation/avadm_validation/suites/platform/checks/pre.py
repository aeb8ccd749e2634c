"""Preconditions of the platform suite: it answers, takes our administrator, and offers the site's GPU nodes."""

from __future__ import annotations

from ava.client import ApiError, Client
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.platform import gpu_inventory, platform_client, polling, tenant

ID = "A-SC-PRE"
TITLE = ("preconditions: the platform answers and offers its nodes", "前提条件:平台可用并提供节点")
NEEDS = ""
REMEDY = (
    "`avadm doctor --only ava`; kubectl get pods -n ava-system -o wide; the ingress: `avadm apply addons`."
)


def _sweep(admin: Client, seconds: float) -> None:
    left = tenant.remove(admin, *tenant.ours(admin), seconds)
    if left:
        raise MeasureError(f"what an earlier run left could not be removed: {'; '.join(left)}")


def run(ctx: Context) -> Outcome:
    """Read the authority's certificate, make an administrator, remove what an earlier run left, ask what is available."""
    platform = platform_client.target(ctx)
    ctx.step("log in as an administrator of the run's own")
    try:
        platform_client.authority(ctx)
        admin = tenant.log_in(ctx)
        _sweep(admin, float(ctx.params["end_s"]))
        _, found = gpu_inventory.look(ctx, "cards")
        polling.until(lambda: admin.cluster().fresh, float(ctx.params["fresh_s"]), every=2.0)
        offered = ctx.rec.save("cluster.json", admin.cluster().model_dump_json())
    except (MeasureError, ApiError, ValueError) as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=REMEDY)
    wanted = sorted(n for n in found if n in platform.gpu_nodes)
    return Outcome(
        method=f"https://{platform.host} at {platform.address}, its certificate verified; an administrator of "
        "the run's own logs in; what it offers against the GPUs that Kubernetes shows on "
        f"{', '.join(wanted) or 'no node'}",
        metrics=[
            metric(
                "fresh",
                ("the scheduler has recently reported what is free (1 = yes)", "调度器近期已上报空闲资源"),
                "bool",
                "cluster",
                [ctx.sample("equals", {"doc": [offered]}, path="fresh", value="True")],
            ),
        ],
        remedy=REMEDY,
    )
