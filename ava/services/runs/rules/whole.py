"""Whether a definition's parts go together, and whether what it names is there."""

from __future__ import annotations

from collections import Counter

from ava.domain.model import Pool
from ava.domain.phrases import Phrase, noun
from ava.domain.placement.cluster_selector import ANY
from ava.domain.placement.pools import pool_for, share_problems, usable
from ava.domain.problems import Problem
from ava.domain.spec import Distributed, Spec
from ava.services.runs.rules.site import Site, some


def kind(spec: Spec, at: str) -> list[Problem]:
    """Return what does not go with the kind."""
    found = []
    if spec.kind == "service" and spec.serving is None:
        found.append(
            Problem(
                "field-missing",
                Phrase("A service says what it serves."),
                f"{at}.serving",
                Phrase("nothing"),
                Phrase("model, port"),
                Phrase("Add serving."),
            )
        )
    if spec.kind != "service" and spec.serving is not None:
        found.append(
            Problem(
                "field-not-allowed",
                Phrase("A {kind} serves nothing.", kind=noun(spec.kind)),
                f"{at}.serving",
                Phrase("an object"),
                Phrase("nothing"),
                Phrase("Leave it out, or make it a service."),
            )
        )
    if spec.kind == "workbench" and (spec.pods() != 1 or spec.distributed is not Distributed.NONE):
        found.append(
            Problem(
                "workbench-pods",
                Phrase("A workbench is one pod."),
                f"{at}.roles",
                Phrase(
                    "{count} pods, distributed: {distributed}",
                    count=spec.pods(),
                    distributed=spec.distributed,
                ),
                Phrase("one role of one replica"),
                Phrase("Make it a training."),
            )
        )
    if spec.git is not None and spec.kind == "service":
        found.append(
            Problem(
                "field-not-allowed",
                Phrase("A service clones no code."),
                f"{at}.git",
                Phrase("an object"),
                Phrase("nothing"),
                Phrase("Put the code into the image."),
            )
        )
    return found


def data_sets(spec: Spec, at: str) -> list[Problem]:
    """Return which data sets are there twice."""
    names = Counter(d.name for d in spec.data_sets)
    return [
        Problem(
            "data-set-twice",
            Phrase("The data set {name} is there {count} times.", name=name, count=count),
            f"{at}.data_sets",
            name,
            Phrase("each once"),
            Phrase("Leave one of them out."),
        )
        for name, count in names.items()
        if count > 1
    ]


def disk(spec: Spec, site: Site, at: str) -> list[Problem]:
    """Return what is wrong with a disk that is asked for."""
    if spec.disk is None:
        return []
    if spec.kind != "workbench":
        what = Phrase(
            "A {kind} has no disk of its own: it ends, and what is on the disk would be gone.",
            kind=noun(spec.kind),
        )
        return [
            Problem(
                "field-not-allowed",
                what,
                at,
                Phrase("a size"),
                Phrase("nothing"),
                Phrase("Leave it out, or make it a workbench."),
            )
        ]
    if not site.disks:
        what, remedy = (
            Phrase("Workbenches have no disks here."),
            Phrase("Leave it out; the administrator can give nodes some."),
        )
        return [Problem("disk-unavailable", what, at, Phrase("a size"), Phrase("nothing"), remedy)]
    if spec.cluster == ANY:
        what, remedy = (
            Phrase("A disk stays in one cluster."),
            Phrase("Name the cluster; `ava cluster show` shows them."),
        )
        return [Problem("disk-anywhere", what, f"{site.where}.cluster", ANY, some(site.clusters), remedy)]
    return []


def named(spec: Spec, site: Site) -> list[Problem]:
    """Return what is named and is not there."""
    found, at = [], site.where
    rows = [
        ("queue", spec.queue, site.queues, "`ava queue`"),
        ("cluster", spec.cluster, [*site.clusters, "any"], "`ava cluster show`"),
    ]
    for name, value, known, look in rows:
        if value not in known:
            found.append(
                Problem(
                    f"{name}-unknown",
                    Phrase("There is no {kind} {name}.", kind=noun(name), name=value),
                    f"{at}.{name}",
                    value,
                    some(known),
                    Phrase("See {command}.", command=look),
                )
            )
    if spec.gpu_model is not None and spec.asks().gpu == 0:
        found.append(
            Problem(
                "field-not-allowed",
                Phrase("A GPU model is named and no GPU is asked for."),
                f"{at}.gpu_model",
                spec.gpu_model,
                Phrase("a role with gpu ≥ 1"),
                Phrase("Ask for a GPU, or leave the model out."),
            )
        )
    return found


def slots(spec: Spec, site: Site) -> list[Problem]:
    """In a pool that shares its cards, a pod gets one slot (I13)."""
    pool = _pool(spec, site)
    return share_problems(spec, pool, f"{site.where}.") if pool is not None else []


def _pool(spec: Spec, site: Site) -> Pool | None:
    queue = site.queues.get(spec.queue)
    chosen = pool_for(spec.asks().gpu > 0, queue.pool if queue else None, site.pools)
    return next((p for p in usable(site.pools) if p.name == chosen), None)


def ratios(spec: Spec, site: Site) -> list[Problem]:
    """Limits may be so many times the requests as the pool allows (N3); where no pool is meant for it, nothing is known."""
    found: list[Problem] = []
    pool = _pool(spec, site)
    if pool is None:
        return []
    for i, role in enumerate(spec.roles):
        rows = (
            ("cpu", role.each.cpu, role.each.cpu_limit, pool.cpu_ratio),
            ("memory", role.each.memory, role.each.memory_limit, pool.memory_ratio),
        )
        for name, asked, limit, ratio in rows:
            if limit is not None and limit > asked * ratio:
                found.append(
                    Problem(
                        "limit-ratio-exceeded",
                        Phrase("The limit of {name} is too far above what is asked for.", name=name),
                        f"{site.where}.roles[{i}].each.{name}_limit",
                        str(limit),
                        Phrase(
                            "at most {asked} × {ratio} (pool {pool})",
                            asked=asked,
                            ratio=f"{ratio:g}",
                            pool=pool.name,
                        ),
                        Phrase("Lower the limit or ask for more."),
                    )
                )
    return found
