"""A-SC2: GPUs are free again soon after a stop: from the stop until the next training runs on the same GPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Verdict
from avadm_validation.suites.platform import gpu_inventory
from avadm_validation.suites.platform.extract import lines
from avadm_validation.suites.platform.extract_stops import stops
from avadm_validation.suites.platform.gpu_handover import HandoverScenario, drive
from avadm_validation.suites.platform.gpu_table import Table

ID = "A-SC2"
TITLE = (
    "GPUs are free soon after a stop, from the call to the next run on the same GPU",
    "停止后 GPU 及时释放并可再次调度",
)
NEEDS = "gpus"
KINDS = {
    "graceful": "a training that ends on SIGTERM",
    "deaf": "one that never hears it",
    "hung": "one whose process hangs in a mount that does not answer, which the suite fixes once the platform has named it",
    "dead": "one on a node whose kubelet is dead, which the suite starts again once the platform has given the training up",
}
ALIVE = ("graceful", "deaf")
HURT = ("hung", "dead")
"""What harms a node for minutes; only in effort full, and only where all GPUs of the node are free."""


def run(ctx: Context) -> Outcome:
    """Stop trainings of each kind whose place others wait for; at the same time on one or two nodes."""
    with gpus.held("platform"):
        _, seen = gpu_inventory.look(ctx, "cards")
        phases, left = _plan(ctx, seen)
        if not phases:
            remedy = "Measure when GPUs are idle: `ava cluster show`, kubectl describe node."
            return Outcome(method="", verdict=Verdict.BLOCKED, reasons=left, remedy=remedy)
        journals: list[str] = []
        for phase in phases:
            together = threading.Barrier(len(phase))
            with ThreadPoolExecutor(len(phase)) as pool:
                journals += pool.map(partial(drive, ctx, barrier=together), phase)
    return _outcome(ctx, {"journal": journals}, left)


def _plan(ctx: Context, seen: Table) -> tuple[list[list[HandoverScenario]], list[str]]:
    """Return what is stopped where, the sets of a phase at the same time, and what is left out and why."""
    p, left = ctx.params, []
    nodes = sorted((n for n, x in seen.items() if x.open), key=lambda n: (-seen[n].free, n))[
        : int(p["nodes"])
    ]
    free = {n: seen[n].free for n in nodes}
    phases: list[list[HandoverScenario]] = []
    for kinds in (ALIVE, HURT):
        phase: list[HandoverScenario] = []
        # Whom others have GPUs of is not harmed for them.
        able = [n for n in nodes if not sum(seen[n].used.values())] if kinds == HURT else nodes
        for i, kind in enumerate(kinds):
            lanes, rounds = int(p[f"{kind}_lanes"]), int(p[f"{kind}_rounds"])
            if not rounds:
                left.append(f"not tried in this effort: {KINDS[kind]}")
            elif able:
                phase.append(HandoverScenario(kind, able[i % len(able)], lanes, rounds, 0))
            elif nodes:
                left.append(f"others have GPUs of {', '.join(nodes)}, not harmed for them: {KINDS[kind]}")
        phases += _fitted(phase, free)
    phases = [phase for phase in phases if phase]
    if not phases:
        left.insert(0, f"too few free GPUs: {free or 'no node with GPUs takes pods'}")
    return phases, left


def _fitted(phase: Sequence[HandoverScenario], free: dict[str, int]) -> list[list[HandoverScenario]]:
    """Return a phase in which each node is full: at the same time where its GPUs are enough, else one set after another."""
    by_node: dict[str, list[HandoverScenario]] = {}
    for one in phase:
        by_node.setdefault(one.node, []).append(one)
    harmed = any(one.kind in HURT for one in phase)
    together = all(sum(x.lanes for x in sets) <= free[n] for n, sets in by_node.items())
    together = together and not (harmed and any(len(sets) > 1 for sets in by_node.values()))
    groups = [list(phase)] if together else [[one] for one in phase]
    found = []
    for group in groups:
        done: list[HandoverScenario] = []
        for one in group:
            lanes = min(one.lanes, free[one.node])
            first = all(x.node != one.node for x in done)
            others = sum(x.lanes for x in group if x.node == one.node and x is not one)
            if lanes:
                # The first of a node's sets has the cards that no one waits for, so that the node is full.
                done.append(one.on(lanes, free[one.node] - lanes - others if first else 0))
        found.append(done)
    return found


def _outcome(ctx: Context, raw: dict[str, list[str]], left: list[str]) -> Outcome:
    done = stops(lines({k: [ctx.read(p) for p in v] for k, v in raw.items()}))
    if not done:
        raise MeasureError("nothing was stopped")
    counts = {kind: sum(s.kind == kind for s in done) for kind in KINDS}
    tried = [kind for kind in KINDS if counts[kind]]

    def one(name: str, titles: tuple[str, str], unit: str, extract: str, **params: str | float) -> Metric:
        return metric(name, titles, unit, "cluster", [ctx.sample(extract, raw, **params)])

    alive = ",".join(kind for kind in ALIVE if counts[kind])
    found = [
        metric(
            "freed",
            ("stop to the next training running on the same GPU, each stop", "停止到同一 GPU 上新任务运行"),
            "s",
            "cluster",
            [ctx.sample("ava_freed", raw, stop=i) for i in range(len(done))],
        ),
        one(
            "doubly-held",
            ("GPUs that two trainings had at a time", "被两个任务同时占用的 GPU"),
            "GPUs",
            "ava_doubly_held",
        ),
        one(
            "untold",
            (
                "harmed stops whose cause was not named, or (dead kubelet) that were not given up, before the suite fixed",
                "修复前平台未说明原因或未放弃的异常停止",
            ),
            "stops",
            "ava_untold",
            kinds=",".join(HURT),
        ),
        *(
            one(
                f"{kind}-max", (f"the slowest: {kind}", f"最慢:{kind}"), "s", "ava_freed_q", kinds=kind, q=1.0
            )
            for kind in tried
        ),
        one(
            "unknown-cards",
            ("trainings whose log does not tell their card", "日志未报告 GPU 的任务"),
            "runs",
            "ava_unknown_cards",
        ),
    ]
    if alive:
        title = ("p99 on nodes that are well (goal: 60 s)", "健康节点 p99(目标 60 秒)")
        found.append(one("p99", title, "s", "ava_freed_q", kinds=alive, q=0.99))
    text = "; ".join(f"{counts[kind]} of {KINDS[kind]}" for kind in tried)
    return Outcome(
        method=f"{len(done)} stops through the API: {text}. Every GPU of the node is taken by a run of the "
        "suite's, and for each that is stopped another one waits, for the card and for its group's quota; "
        "the clock runs from before the call until that one is seen running, half a second late at most. "
        "Which card it has its program tells; p99 is by nearest rank, so of fewer than 100 stops the slowest",
        metrics=found,
        reasons=left,
        remedy="`ava explain RUN` of the one that waits; docs/how-to/administer-ava.md, Pods that do not end; "
        "`avadm doctor --only ava`.",
    )
