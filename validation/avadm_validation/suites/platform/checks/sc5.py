"""A-SC5: a training over its memory limit is started again; its neighbours are untouched."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.platform.journal import ENDED, Journal
from avadm_validation.suites.platform.memory import LIMIT_MIB, LIMITED, TAKES_MIB, beside_a_neighbour, outcome
from avadm_validation.suites.platform.work import command

ID = "A-SC5"
TITLE = (
    "a training over its memory limit is started again, all else lives",
    "训练超内存:容器被重启,其他不受影响",
)
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Let a training take four times its limit, again and again, and see it started again."""
    roles = [{"each": LIMITED, "policy": "restart-pod"}]
    raw = beside_a_neighbour(ctx, {"command": command("hog"), "roles": roles}, _over)
    return outcome(
        ctx,
        raw,
        f"a training of {LIMIT_MIB} MiB, to be started again when it fails, that takes {TAKES_MIB} MiB each time",
        [
            metric(
                "restarted",
                ("how often it was started again", "重启次数"),
                "times",
                "cluster",
                [ctx.sample("ava_restarted", raw)],
            ),
            metric(
                "explained",
                ("the platform says that its memory was the cause (1 = yes)", "平台说明内存超限"),
                "bool",
                "cluster",
                [ctx.sample("ava_explained", raw)],
            ),
        ],
    )


def _over(journal: Journal, run: str) -> bool:
    """Note what its pod does until it was started again, and why; docker does not always hear of the kernel's reason."""
    state = journal.look()[run]
    journal.pods_anew(run)
    seen = journal.reasons.get(run, set())
    restarts = max((pod["restarts"] for pod in journal.last.values()), default=0)
    return state in ENDED or restarts > 2 or (restarts > 0 and "OOMKilled" in seen)
