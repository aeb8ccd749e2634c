"""A-SC9: grafana shows the GPU utilization of each user's runs."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.platform import watch
from avadm_validation.suites.platform.isolation import setup

ID = "A-SC9"
TITLE = ("GPU utilization of each user's runs in grafana", "grafana 显示各用户任务的 GPU 利用率")
NEEDS = "gpus and metrics"
REMEDY = (
    "docs/how-to/monitor.md, GPUs by user: which of the three series is missing (avadm_gpu_pod: `journalctl -u "
    "avadm-gpu-device-plugin`; dcgm_gpu_utilization: the exporter; ava_run_info: the operator that leads)."
)


def run(ctx: Context) -> Outcome:
    """Compare the series of a run's GPU with its user, group, name, node and card, and with what the exporter tells."""
    try:
        seen = watch.seen(ctx)
    except setup.TooFullError as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=setup.IDLE)
    if seen.simulated:
        ctx.class_ = "simulated"
    raw = {"journal": [seen.journal], "cards": [seen.cards], "table": [seen.table]}
    return Outcome(
        method=f'the training of A-SC8 on {seen.node}: the series of the panel "Utilization of each run\'s GPUs" (its query, '
        "evaluated by Prometheus) against the user, the group, the name and the node that the training has, the card that "
        "kubelet gave it (its checkpoint), and what the node's exporter tells of that card",
        metrics=[
            metric(
                "wrong",
                ("labels that are wrong, and cards without a series", "标签有误或缺失的序列"),
                "labels",
                "client",
                [ctx.sample("ava_series_wrong", raw, run=seen.run, node=seen.node)],
            ),
            metric(
                "differing",
                ("difference from the exporter's sample", "与采集值之差"),
                "points",
                "client",
                [ctx.sample("ava_series_differ", {**raw, "exporter": list(seen.exporter)}, run=seen.run)],
            ),
        ],
        reasons=[
            "the training computes nothing: at a site 0 is compared with 0"
            if not seen.simulated
            else "the GPUs are stand-ins without a driver, their exporter tells known values: class simulated"
        ],
        remedy=REMEDY,
    )
