"""A-SC4: of a workbench over its memory limit one process dies; the workbench and its neighbours live on."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.platform.journal import ENDED, Journal
from avadm_validation.suites.platform.memory import LIMIT_MIB, LIMITED, TAKES_MIB, beside_a_neighbour, outcome
from avadm_validation.suites.platform.work import command

ID = "A-SC4"
TITLE = (
    "a workbench over its memory limit: one process dies, all else lives",
    "工作台超内存:仅一个进程被终止,其他不受影响",
)
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Let a child of a workbench's process take four times the workbench's limit."""
    spec = {"kind": "workbench", "command": command("parent"), "roles": [{"each": LIMITED}]}
    raw = beside_a_neighbour(ctx, spec, _over)
    return outcome(
        ctx,
        raw,
        f"a workbench of {LIMIT_MIB} MiB whose process starts another one that takes {TAKES_MIB} MiB; it "
        "tells how that one ended, and continues",
        [
            metric(
                "killed",
                ("the process that took too much was killed (1 = yes)", "超限进程被终止"),
                "bool",
                "cluster",
                [ctx.sample("ava_child_killed", raw)],
            ),
            metric(
                "lived-on",
                ("the workbench lives on, in the same container (1 = yes)", "工作台继续运行"),
                "bool",
                "cluster",
                [ctx.sample("ava_lived_on", raw)],
            ),
        ],
    )


def _over(journal: Journal, run: str) -> bool:
    """Return whether it has reported how its child ended, and something after that; or has ended itself."""
    if journal.look()[run] in ENDED:
        return True
    reply = journal.output(run)
    ends = [i for i, text in enumerate(reply) if text.startswith("child ")]
    return bool(ends) and any(text.startswith("alive ") for text in reply[ends[0] :])
