"""Faults injected into a node before a stop, and always reverted: a mount that hangs, a stopped kubelet.

The revert is scheduled on the node itself before the fault is injected, so that a killed run leaves it for minutes at most.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files

from avadm_validation.measuring.context import Context
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.work import HANGS

TOOL = "fusehang.py"
TIMER = "avadm-accept-kubelet"
STOP = (
    f"systemctl stop {TIMER}.timer 2>/dev/null; systemctl reset-failed {TIMER}.service 2>/dev/null; "
    f"systemd-run --unit={TIMER} --on-active={{seconds}} systemctl start kubelet && systemctl stop kubelet"
)
START = f"systemctl start kubelet && {{ systemctl stop {TIMER}.timer 2>/dev/null; true; }}"
HARMED = "harmed nodes"
"""Key of the reverts that are due: node to command."""


@dataclass
class FaultInjection:
    """An injected fault.

    Attributes:
        planted: whether a fault was injected.
        revert: reverts it; idempotent.
    """

    planted: bool = False
    revert: Callable[[], None] = lambda: None


@contextmanager
def inject(
    ctx: Context, node: str, kind: str, journal: Journal, holds: list[str]
) -> Iterator[FaultInjection]:
    """Inject the fault of a kind of stop; reverted at the end, if not before; MeasureError where it cannot be done."""
    seconds = int(ctx.params["harmed_s"])
    if kind not in ("hung", "dead"):
        yield FaultInjection()
        return
    undo = START if kind == "dead" else ctx.tool(TOOL, "end")
    ctx.shared.setdefault(HARMED, {})[node] = undo

    def revert() -> None:
        done = ctx.rec.run(node, undo, "revert", timeout=60)
        if not done.rc and not done.error:
            ctx.shared[HARMED].pop(node, None)

    harmed = FaultInjection(True, revert)
    try:
        if kind == "dead":
            ctx.must(ctx.rec.run(node, STOP.format(seconds=seconds), "kubelet-stopped", timeout=60))
        else:
            _hang(ctx, node, [pod.name for run in holds for pod in journal.user.pods(run)], seconds)
        journal.note("harmed", node=node, kind=kind)
        yield harmed
    finally:
        if node in ctx.shared[HARMED]:
            revert()


def _hang(ctx: Context, node: str, pods: list[str], seconds: int) -> None:
    """Put a mount that answers nothing over a folder of pods' containers."""
    ctx.has_tools(node)
    ctx.must(ctx.rec.run(node, ctx.private, "tools"))
    source = (files("avadm_validation") / "tools" / TOOL).read_bytes()
    ctx.must(ctx.rec.fleet.put(node, source, f"{ctx.tools}/{TOOL}", mode=0o755))
    line = ctx.tool(TOOL, "begin", ",".join(pods), folder=HANGS, seconds=seconds)
    ctx.must(ctx.rec.run(node, line, "hang", timeout=60))


def revert_all(ctx: Context) -> list[str]:
    """Revert what is still injected; return what could not be reverted, in sentences. Nothing is raised."""
    stayed = []
    for node, undo in list(ctx.shared.get(HARMED, {}).items()):
        done = ctx.rec.run(node, undo, "revert", timeout=60)
        if done.rc or done.error:
            stayed.append(f"{node} may be harmed still; run there: {shlex.quote(undo)}")
        else:
            ctx.shared[HARMED].pop(node)
    return stayed
