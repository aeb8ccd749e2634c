"""A-SC6: from one user's container nothing of another's, of the node or of the kernel is reached."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.platform.isolation import evaluate, setup

ID = "A-SC6"
TITLE = (
    "file systems of different users' containers are isolated, and the node's from them",
    "不同用户容器的文件系统相互隔离",
)
NEEDS = "gpus"
REMEDY = "docs/explanation/ava.md; what the container was given: kubectl get pod -o yaml; the node's: `avadm apply nodes`."


def run(ctx: Context) -> Outcome:
    """Try the attacks of the list from a training and a workbench beside another user's training, each with its control."""
    try:
        report = setup.results(ctx)
    except setup.TooFullError as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=setup.IDLE)
    metrics = evaluate.metrics(ctx, report, ID)
    return Outcome(
        method=f"{len(metrics)} attacks from a training and a workbench of one user on another user's training on "
        f"{report.node}, on the node and on its kernel; each is tried as well from where it must get through (root of the "
        "node, the victim's own container, the platform's operator): a row whose control does not get through shows "
        "nothing, and has no number",
        metrics=[evaluate.through(ctx, report, ID), *metrics],
        reasons=evaluate.reasons(ctx, report, ID),
        remedy=REMEDY,
    )
