"""One kind of stops on one node: runs that have all of its GPUs, runs that wait for them, and the stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.suites.platform import platform_client, polling
from avadm_validation.suites.platform.fault_injection import FaultInjection, inject
from avadm_validation.suites.platform.journal import ENDED, Journal
from avadm_validation.suites.platform.tenant import tenant
from avadm_validation.suites.platform.work import role, spec

LETTERS = {"graceful": "g", "deaf": "d", "hung": "h", "dead": "k"}
"""Of the users that have the runs of each kind."""
CAUSES = frozenset({"Stuck", "NodeLost", "NodeGone"})
"""Why a pod does not end, as the platform tells it of the pod."""


@dataclass(frozen=True)
class HandoverScenario:
    """What is stopped on a node.

    Attributes:
        kind: the program, and what is done to the node.
        node: where.
        lanes: GPUs that change hands.
        rounds: how often each does.
        ballast: GPUs of the node that are held all the time, so that none is free.
    """

    kind: str
    node: str
    lanes: int
    rounds: int
    ballast: int

    def on(self, lanes: int, ballast: int) -> HandoverScenario:
        """Return the same with so many GPUs."""
        return replace(self, lanes=lanes, ballast=ballast)


@contextmanager
def _until_all(barrier: threading.Barrier, seconds: float) -> Iterator[None]:
    """Keep what one set has until all sets of a phase are done: its cards would be free for the runs of another."""
    try:
        yield
    finally:
        with suppress(threading.BrokenBarrierError):
            barrier.wait(seconds)


def drive(ctx: Context, lanes: HandoverScenario, barrier: threading.Barrier) -> str:
    """Make all stops of one kind; return the raw file. MeasureError where they cannot begin.

    Args:
        ctx: the check's view of the run.
        lanes: what is stopped.
        barrier: of all sets that are made at the same time.
    """
    # The quota is what they have: the next one waits for the group's charge too, which ends when the card is free.
    quota = {"gpu": lanes.lanes + lanes.ballast, "cpu": None, "memory": None}
    try:
        with tenant(ctx, [quota], part=LETTERS[lanes.kind]) as who:
            journal = Journal(who.user, who.groups[0])
            try:
                with _until_all(barrier, ctx.limit(lanes.rounds * float(ctx.params["limit_s"]))):
                    _drive(ctx, lanes, journal)
            finally:
                journal.note("over", runs=sorted(journal.states))
                path = journal.save(ctx, f"journal-{lanes.kind}.jsonl")
    except BaseException:
        # Anyone who waits for this set would wait in vain.
        barrier.abort()
        raise
    return path


def _drive(ctx: Context, lanes: HandoverScenario, journal: Journal) -> None:
    p, image = ctx.params, platform_client.target(ctx).image

    def started(kind: str, gpu: int = 1) -> str:
        return journal.start(f"{kind}-{gpu}", spec(image, kind, role(gpu), node=lanes.node))

    holds = [started(lanes.kind) for _ in range(lanes.lanes)]
    first = [*holds, *([started("graceful", lanes.ballast)] if lanes.ballast else [])]
    if not journal.reached(first, "running", seconds=float(p["place_s"])):
        why = "; ".join(sorted({f"{journal.states[r]}: {journal.runs[r].reason}" for r in first}))
        raise MeasureError(f"the trainings that are to be stopped do not run on {lanes.node}: {why}")
    journal.pods(*first)
    every = list(first)
    for turn in range(lanes.rounds):
        ctx.step(f"stop {lanes.lanes} on {lanes.node} ({lanes.kind}), {turn + 1} of {lanes.rounds}")
        # The last ones are stopped by no one who measures: they need not be deaf.
        after = [started(lanes.kind if turn + 1 < lanes.rounds else "graceful") for _ in holds]
        polling.rest(float(p["wait_s"]))  # so that they really wait
        journal.look()
        with inject(ctx, lanes.node, lanes.kind, journal, holds) as harmed:
            for hold, following in zip(holds, after, strict=True):
                journal.stop(hold, kind=lanes.kind, next=following)
            _mend(ctx, lanes, journal, holds, harmed)
        done = journal.reached(after, "running", seconds=float(p["limit_s"]))
        journal.pods(*after)
        every += after
        holds = after
        if not done:
            break  # what did not run shows in the journal
    journal.log(*every, seconds=float(p["log_s"]))


def _mend(
    ctx: Context, lanes: HandoverScenario, journal: Journal, holds: list[str], harmed: FaultInjection
) -> None:
    """Of a harmed node: wait until the platform has reported what is wrong (and given up what is on a dead one), then fix it."""
    if not harmed.planted:
        return
    left = set(holds)

    def reasons_known() -> bool:
        journal.look()
        for run in sorted(left):
            causes = {pod.reason for pod in journal.user.pods(run)} & CAUSES
            if causes:
                left.discard(run)
                journal.pods(run)
                journal.note("told", run=run, causes=sorted(causes))
        return not left

    def over() -> bool:
        return all(journal.look().get(run) in ENDED for run in holds)

    # What has ended is not reported any more: then nothing was harmed, which the report counts as untold.
    polling.until(lambda: reasons_known() or over(), float(ctx.params["report_s"]), every=2.0)
    if lanes.kind == "dead":
        polling.until(over, float(ctx.params["report_s"]), every=2.0)
        for run in holds:
            if journal.states.get(run) in ENDED:
                journal.note("given-up", run=run)
    harmed.revert()
    journal.note("fixed", node=lanes.node)
