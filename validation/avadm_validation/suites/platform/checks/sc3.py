"""A-SC3: trainings and workbenches on one GPU node see their own GPUs alone and do not reach one another."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Verdict
from avadm_validation.suites.platform.isolation import evaluate, setup

ID = "A-SC3"
TITLE = (
    "on one GPU node each run has its own GPUs alone and disturbs no other",
    "同一 GPU 节点上的任务互不干扰,只可见自己的 GPU",
)
NEEDS = "gpus"
GPUS = {"victim": 1, "training": 1, "workbench": 1, "plain": 0}
REMEDY = (
    "journalctl -u avadm-gpu-device-plugin on the node; docker's default runtime there has to be runc: `avadm apply "
    "docker`; network policies: kubectl get networkpolicies --all-namespaces."
)


def run(ctx: Context) -> Outcome:
    """Compare what each container sees of the cards with what kubelet gave it; try to reach the others."""
    try:
        report = setup.results(ctx)
    except setup.TooFullError as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=setup.IDLE)
    if report.simulated:
        ctx.class_ = "simulated"
    raw = {"cards": [report.cards], "table": [report.table]}

    def each(name: str, titles: tuple[str, str], extract: str) -> Metric:
        samples = [
            ctx.sample(extract, {**raw, "said": [report.pods[kind]]}, run=report.runs[kind], gpu=float(gpu))
            for kind, gpu in GPUS.items()
        ]
        return metric(name, titles, "GPUs", "client", samples)

    with_gpus = ",".join(report.runs[kind] for kind, gpu in GPUS.items() if gpu)
    return Outcome(
        method=f"on {report.node} a training of one user, a training and a workbench of another with one GPU each, and one "
        "without: device files and UUIDs that each sees against what kubelet gave it (its checkpoint), the cards that a "
        "device file of its own making opens; the last three say CUDA_VERSION, at which NVIDIA's runtime gives all. Then "
        "the attacks of the list on one another, on GPUs and on the cluster, each with its control",
        metrics=[
            each(
                "differing",
                ("GPUs seen that are not those assigned", "所见与所分配不符的 GPU"),
                "ava_cards_differ",
            ),
            each(
                "opened",
                ("others' GPUs that a device file of its own opens", "可打开的他人 GPU"),
                "ava_cards_opened",
            ),
            metric(
                "shared",
                ("GPUs that two of them have", "被两个任务共有的 GPU"),
                "GPUs",
                "cluster",
                [ctx.sample("ava_cards_shared", raw, runs=with_gpus)],
            ),
            metric(
                "said-all",
                ("trainings taken that say NVIDIA_VISIBLE_DEVICES=all", "自定义可见 GPU 而未被拒绝的任务"),
                "runs",
                "cluster",
                [ctx.sample("ava_said_all", {"journal": list(report.journal)}, called=setup.ALL_GPUS)],
            ),
            metric(
                "neighbour",
                ("the one that was attacked runs on, not started again (1 = yes)", "被攻击的任务未受影响"),
                "bool",
                "cluster",
                [ctx.sample("ava_neighbour", {"neighbour": list(report.neighbour)})],
            ),
            *evaluate.metrics(ctx, report, ID),
        ],
        reasons=[
            *evaluate.reasons(ctx, report, ID),
            *(["the GPUs are stand-ins without a driver: class simulated"] if report.simulated else []),
        ],
        remedy=REMEDY,
    )
