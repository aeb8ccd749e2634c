"""A-SC8: used and free GPUs of each machine are seen in grafana, and on the form that a training is made with."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.platform import watch
from avadm_validation.suites.platform.isolation import setup

ID = "A-SC8"
TITLE = (
    "used and free GPUs of each machine in grafana, and on the form",
    "grafana 显示各机器已用和空闲 GPU,创建时可选空闲节点",
)
NEEDS = "gpus and metrics"
REMEDY = (
    "`avadm doctor --only ava,monitoring`; kubectl get pods -o wide against `ava cluster show`; kube-state-metrics on the "
    "masters: `systemctl status avadm-kube-state-metrics`."
)


def run(ctx: Context) -> Outcome:
    """Compare a node's GPUs as panel, platform, database and Kubernetes tell of them, after a start and after an end."""
    try:
        seen = watch.seen(ctx)
    except setup.TooFullError as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=setup.IDLE)
    raw = {"journal": [seen.journal]}
    return Outcome(
        method=f"a training with one GPU on {seen.node} from its start to after its end: used and free GPUs of the node by the "
        'panels of grafana\'s dashboard "GPUs" (their queries, evaluated by Prometheus), as the platform tells, by the pods '
        "that Kubernetes has, and what its group is charged for. The time runs from when Kubernetes has, or has no more, the "
        "training's pod there; then the form of a new training, in a browser",
        metrics=[
            metric(
                "agree",
                (
                    "until panel, platform, database and pods agree, after the start and the end",
                    "面板、平台、账本与容器一致",
                ),
                "s",
                "cluster",
                [ctx.sample("ava_view_agrees", raw, phase=phase) for phase in ("held", "freed")],
            ),
            metric(
                "form",
                ("nodes with free GPUs that the form lacks, or tells wrongly", "表单缺少或有误的空闲节点"),
                "nodes",
                "client",
                [ctx.sample("ava_view_form", raw)],
            ),
        ],
        remedy=REMEDY,
    )
