"""A-SC7: the GPU node where least is left is chosen; a node or a GPU model that the user names comes before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ava.client import ApiError
from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Sample, Verdict
from avadm_validation.suites.platform import gpu_inventory, platform_client, polling
from avadm_validation.suites.platform.gpu_table import Table
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.tenant import tenant
from avadm_validation.suites.platform.work import role, spec

ID = "A-SC7"
TITLE = ("best fit by default, a named node or GPU model first", "默认最佳适配,指定节点或 GPU 型号优先")
NEEDS = "gpus"
NO_MODEL = "no-such-model"
REMEDY = (
    "`ava explain RUN` says what the scheduler weighed; what is free, as it sees it: `ava cluster show`; as "
    "Kubernetes does: kubectl describe node."
)


class TooFullError(Exception):
    """Two nodes with free GPUs are needed; others have them."""


@dataclass
class PlacedRuns:
    """Runs of one check: which were decided freely, which by a name, which by a model.

    Attributes:
        free: the raw file of the table before, the run, its GPUs.
        named: the run and the node that it named.
        models: the raw file of the table, the run, the model that it named.
        disturbed: decisions that are not judged, since others took or gave back GPUs meanwhile.
    """

    free: list[tuple[str, str, int]] = field(default_factory=list)
    named: list[tuple[str, str]] = field(default_factory=list)
    models: list[tuple[str, str, str]] = field(default_factory=list)
    disturbed: int = 0


def run(ctx: Context) -> Outcome:
    """Fill a node by name, let the platform choose, name another one, name a model; look where each was put."""
    p = ctx.params
    made, several = PlacedRuns(), ""
    with gpus.held("platform"), tenant(ctx, [{"gpu": None, "cpu": None, "memory": None}]) as who:
        journal = Journal(who.user, who.groups[0])
        try:
            while len(made.free) < int(p["decisions"]):
                ctx.step(f"place trainings on GPU nodes, {len(made.free)} of {p['decisions']} decided")
                several = _round(ctx, journal, made)
        except TooFullError as error:
            journal.save(ctx)
            remedy = "Measure when two GPU nodes are idle: `ava cluster show`, kubectl describe node."
            return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=remedy)
        _unknown_model(ctx, journal)
    return _outcome(ctx, made, {"journal": [journal.save(ctx)]}, several)


def _round(ctx: Context, journal: Journal, made: PlacedRuns) -> str:
    """Fill, choose, name; end all. Return what the reader must know of the site's models."""
    path, seen = gpu_inventory.look(ctx, "before")
    first, other = _two(seen)
    runs = []

    def placed(name: str, gpu: int, **wish: str) -> str:
        runs.append(_placed(ctx, journal, name, gpu, **wish))
        return runs[-1]

    # The last by its name of those with most free: who takes the first node that fits takes another one.
    made.named.append((placed("named", 1, node=first), first))
    _choose(ctx, made, lambda: placed("chosen", 1), 1)
    whole = max(n.free for n in gpu_inventory.look(ctx, "between")[1].values() if n.open)
    _choose(ctx, made, lambda: placed("whole", whole), whole)
    path, seen = gpu_inventory.look(ctx, "model")
    model = seen[other].model
    here = [n for n in seen.values() if n.open and n.model == model and n.free]
    if model and here:
        try:
            made.models.append((path, placed("model", 1, gpu_model=model), model))
        except ApiError:
            made.models.append((path, "", model))  # no one gets that model: it is on no node
    # What is named is kept to where another node would fit better.
    left = {n: x.free for n, x in gpu_inventory.look(ctx, "named")[1].items() if x.open and x.free}
    if left:
        far = max(left, key=lambda name: (left[name], name))
        made.named.append((placed("far", 1, node=far), far))
    for one in runs:
        journal.stop(one)
    if not journal.reached(runs, "stopped", "succeeded", seconds=float(ctx.params["end_s"])):
        raise MeasureError("trainings that were stopped have not ended")
    models = {n.model for n in seen.values()}
    return (
        "" if len(models) > 1 else "all GPU nodes are of one model: that others are passed over was not seen"
    )


def _two(seen: Table) -> tuple[str, str]:
    """Return the node to fill and another one."""
    able = sorted((n for n, x in seen.items() if x.open and x.free > 1), key=lambda n: (seen[n].free, n))
    if len(able) < 2:
        free = ", ".join(f"{n} {x.free} of {x.size}" for n, x in sorted(seen.items())) or "no node has GPUs"
        raise TooFullError(f"two nodes with 2 free GPUs each are needed: {free}")
    return able[-1], able[0]


def _choose(ctx: Context, made: PlacedRuns, place: Callable[[], str], asks: int) -> None:
    """Have a run placed that names nothing; it counts where all others' GPUs are the same before and after."""
    path, before = gpu_inventory.look(ctx, "before")
    run = place()
    _, after = gpu_inventory.look(ctx, "after")
    for node in after.values():
        node.used.pop(run, None)
    if {n: x.used for n, x in after.items()} == {n: x.used for n, x in before.items()}:
        made.free.append((path, run, asks))
    else:
        made.disturbed += 1
        if made.disturbed > int(ctx.params["disturbed"]):
            raise TooFullError(f"others took or gave back GPUs {made.disturbed} times meanwhile")


def _placed(ctx: Context, journal: Journal, name: str, gpu: int, **wish: str) -> str:
    """Start a run and wait until it has a node; return it."""
    run = journal.start(name, spec(platform_client.target(ctx).image, "graceful", role(gpu), **wish))
    limit = float(ctx.params["place_s"])
    if not polling.until(lambda: any(p.node for p in journal.user.pods(run)), limit):
        journal.look()
        raise TooFullError(f"no node for {gpu} GPUs within {limit:.0f} s: {journal.runs[run].reason}")
    journal.pods(run)
    return run


def _unknown_model(ctx: Context, journal: Journal) -> None:
    job = spec(platform_client.target(ctx).image, "short", role(1), gpu_model=NO_MODEL)
    try:
        journal.stop(journal.start(NO_MODEL, job))
    except ApiError:
        return


def _outcome(ctx: Context, made: PlacedRuns, raw: dict[str, list[str]], several: str) -> Outcome:
    def free(path: str, run: str, asks: int) -> Sample:
        return ctx.sample("ava_more_left", {**raw, "before": [path]}, run=run, asks=float(asks))

    def model(path: str, run: str, name: str) -> Sample:
        return ctx.sample("ava_other_model", {**raw, "before": [path]}, run=run, model=name)

    return Outcome(
        method="trainings through the API on GPU nodes: one fills a card of the node that is the last by its "
        "name, the next name nothing (one card; as many as the emptiest node has free), further ones name a "
        "node that does not fit best, a GPU model, and a model that no node has. Where each was put is "
        "compared with what Kubernetes showed as free just before; what was decided while others took or "
        f"gave back GPUs does not count ({made.disturbed} here)",
        metrics=[
            metric(
                "more-left",
                ("GPUs more left over than on the best fitting node", "比最佳节点多剩余的 GPU"),
                "GPUs",
                "cluster",
                [free(*one) for one in made.free],
            ),
            metric(
                "elsewhere",
                (
                    "trainings that are not on the node that they named (1 = elsewhere)",
                    "未在指定节点上的任务",
                ),
                "bool",
                "cluster",
                [ctx.sample("ava_elsewhere", raw, run=run, node=node) for run, node in made.named],
            ),
            metric(
                "other-model",
                ("trainings that are on another model than they named (1 = other)", "GPU 型号不符的任务"),
                "bool",
                "cluster",
                [model(*one) for one in made.models],
            ),
            metric(
                "refused",
                ("a model that no node has is refused (1 = yes)", "不存在的型号被拒绝"),
                "bool",
                "cluster",
                [ctx.sample("ava_refused", raw, called=NO_MODEL)],
            ),
        ],
        reasons=[several] if several else [],
        remedy=REMEDY,
    )
