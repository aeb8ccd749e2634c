"""What is done to a node before a stop, and undone in every case: a mount that hangs, a kubelet that is stopped.

What undoes it is set on the node itself before it is done, so that a run that is killed harms it for minutes and not for good.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from avadm_validation.measuring.context import Context
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.work import HANGS

if TYPE_CHECKING:
    from avadm_validation.suites.platform.gpu_handover import HandoverScenario

TOOL = "fusehang.py"
TIMER = "avadm-accept-kubelet"
STOP = (
    f"systemctl stop {TIMER}.timer 2>/dev/null; systemctl reset-failed {TIMER}.service 2>/dev/null; "
    f"systemd-run --unit={TIMER} --on-active={{seconds}} systemctl start kubelet && systemctl stop kubelet"
)
START = f"systemctl start kubelet && {{ systemctl stop {TIMER}.timer 2>/dev/null; true; }}"
HARMED = "harmed nodes"
"""Under which it is noted what has to be undone: node to the command."""


@dataclass
class FaultInjection:
    """What was done.

    Attributes:
        planted: whether anything was.
        undo: undoes it; harmless when done twice.
    """

    planted: bool = False
    undo: Callable[[], None] = lambda: None

    def fix(self) -> None:
        """Undo it."""
        self.undo()


@contextmanager
def harm(
    ctx: Context, lanes: HandoverScenario, journal: Journal, holds: list[str]
) -> Iterator[FaultInjection]:
    """Harm the node as the kind of stop wants it; fixed at the end, if not before; MeasureError where it cannot be done."""
    node, seconds = lanes.node, int(ctx.params["harmed_s"])
    if lanes.kind not in ("hung", "dead"):
        yield FaultInjection()
        return
    undo = START if lanes.kind == "dead" else ctx.tool(TOOL, "end")
    ctx.shared.setdefault(HARMED, {})[node] = undo

    def fix() -> None:
        done = ctx.rec.run(node, undo, "fix", timeout=60)
        if not done.rc and not done.error:
            ctx.shared[HARMED].pop(node, None)

    harmed = FaultInjection(True, fix)
    try:
        if lanes.kind == "dead":
            ctx.must(ctx.rec.run(node, STOP.format(seconds=seconds), "kubelet-stopped", timeout=60))
        else:
            _hang(ctx, node, [pod.name for run in holds for pod in journal.user.pods(run)], seconds)
        journal.note("harmed", node=node, kind=lanes.kind)
        yield harmed
    finally:
        if node in ctx.shared[HARMED]:
            fix()


def _hang(ctx: Context, node: str, pods: list[str], seconds: int) -> None:
    """Put a mount that answers nothing over a folder of pods' containers."""
    ctx.has_tools(node)
    ctx.must(ctx.rec.run(node, ctx.private, "tools"))
    source = (files("avadm_validation") / "tools" / TOOL).read_bytes()
    ctx.must(ctx.rec.fleet.put(node, source, f"{ctx.tools}/{TOOL}", mode=0o755))
    line = ctx.tool(TOOL, "begin", ",".join(pods), folder=HANGS, seconds=seconds)
    ctx.must(ctx.rec.run(node, line, "hang", timeout=60))


def mend_all(ctx: Context) -> list[str]:
    """Undo what is still harmed; return what could not be, in sentences. Nothing is raised."""
    stayed = []
    for node, undo in list(ctx.shared.get(HARMED, {}).items()):
        done = ctx.rec.run(node, undo, "fix", timeout=60)
        if done.rc or done.error:
            stayed.append(f"{node} may be harmed still; run there: {shlex.quote(undo)}")
        else:
            ctx.shared[HARMED].pop(node)
    return stayed
