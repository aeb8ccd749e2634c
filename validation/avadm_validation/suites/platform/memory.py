"""A run that takes more memory than it may, and a neighbour of another group on the same node that continues working."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.platform import platform_client, polling
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.tenant import tenant
from avadm_validation.suites.platform.work import CPU, command

LIMIT_MIB, TAKES_MIB = 64, 256
LIMITED: dict[str, Any] = {"cpu": CPU, "memory": LIMIT_MIB << 20}
TITLES = {
    "neighbour": ("the neighbour runs on, not started again (1 = yes)", "邻居任务未受影响"),
    "pause": ("longest pause of the neighbour", "邻居最长停顿"),
}


def beside_a_neighbour(
    ctx: Context, spec: dict[str, Any], over: Callable[[Journal, str], bool]
) -> dict[str, list[str]]:
    """Run a spec beside a neighbour on a node without GPUs until it is over; return the raw files, both journals in one group.

    Args:
        ctx: the check's view of the run.
        spec: what takes too much memory, without image and node.
        over: whether all was seen of it, looked at twice a second.

    Raises:
        MeasureError: the neighbour does not run.
    """
    platform, limit = platform_client.target(ctx), float(ctx.params["place_s"])
    quota = {"gpu": 0, "cpu": None, "memory": None}
    where = {"image": platform.image, "node": platform.plain_nodes[0]}
    with tenant(ctx, [quota], part="n") as other, tenant(ctx, [quota]) as who:
        calm, journal = Journal(other.user, other.groups[0]), Journal(who.user, who.groups[0])
        beat = calm.start("neighbour", {**where, "command": command("beat"), "roles": [{"each": LIMITED}]})
        if not calm.reached([beat], "running", seconds=limit):
            raise MeasureError(f"the neighbour does not run: {calm.states[beat]}: {calm.runs[beat].reason}")
        ctx.step(f"take {TAKES_MIB} MiB with a limit of {LIMIT_MIB} MiB")
        run = journal.start("hog", {**where, **spec})
        polling.until(lambda: over(journal, run), limit)  # where it never is, that shows in what was seen
        polling.rest(float(ctx.params["after_s"]))
        for one, of in ((calm, beat), (journal, run)):
            one.look()
            one.pods(of)
            one.log(of, seconds=float(ctx.params["log_s"]))
        return {"journal": [journal.save(ctx)], "neighbour": [calm.save(ctx, "neighbour.jsonl")]}


def outcome(ctx: Context, raw: dict[str, list[str]], method: str, own: list[Metric]) -> Outcome:
    """Return the check's outcome: its own metrics and the neighbour's."""
    return Outcome(
        method=f"{method}; a neighbour of another user and group on the same node "
        f"({platform_client.target(ctx).plain_nodes[0]}) works without end and notes its longest pause",
        metrics=[
            *own,
            metric("neighbour", TITLES["neighbour"], "bool", "cluster", [ctx.sample("ava_neighbour", raw)]),
            metric("pause", TITLES["pause"], "ms", "client", [ctx.sample("ava_pause", raw)]),
        ],
        remedy="kubectl describe pod; dmesg on its node says which control group was over its limit, and "
        "which process died.",
    )
