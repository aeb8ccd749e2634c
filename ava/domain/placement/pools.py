"""Which pool a run goes to."""

from __future__ import annotations

from collections.abc import Iterable

from ava.domain.model import Pool
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.spec import Spec

DEFAULT = (Pool("gpu", "gpu", True, {}), Pool("cpu", "cpu", False, {}))
"""Where a site has set up none: nodes with GPUs, and nodes without."""


def usable(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Return the site's pools, and for GPU or CPU runs the default one where it has none of that kind with whole cards."""
    own = tuple(pools)
    names = {pool.name for pool in own}
    whole = {p.gpu for p in own if not _shared(p)}
    missing = (d for d in DEFAULT if d.name not in names and d.gpu not in whole)
    return (*own, *missing)


def pool_for(gpu: bool, queue_pool: str | None, pools: Iterable[Pool]) -> str | None:
    """Return the pool of a run: its queue's, else the first by name for GPU runs or for the others (A-SC1).

    Slots of shared cards are for queues that name their pool. None where the queue's pool is of the other kind: a run without
    GPUs never takes room on GPU nodes, nor the other way round.
    """
    fitting = sorted((pool for pool in usable(pools) if pool.gpu == gpu), key=lambda pool: pool.name)
    if queue_pool is not None:
        return queue_pool if any(pool.name == queue_pool for pool in fitting) else None
    return next((pool.name for pool in fitting if not _shared(pool)), None)


def _shared(pool: Pool) -> bool:
    return pool.gpu and pool.gpu_slots > 1


def share_problems(spec: Spec, pool: Pool, where: str) -> list[Problem]:
    """Return the roles whose pods ask for more than one slot of a pool that shares its cards (I13).

    Two slots may be of one card or of two: which, kubelet decides, so no one could say what was got. ``where``: before ``roles``.
    """
    if not _shared(pool):
        return []
    return [
        Problem(
            "one-slot",
            Phrase(
                "The pool {pool} gives slots of shared cards, one to a pod ({gpu_slots} to a card).",
                pool=pool.name,
                gpu_slots=pool.gpu_slots,
            ),
            f"{where}roles[{i}].each.gpu",
            str(role.each.gpu),
            Phrase("at most 1"),
            Phrase("Ask for 1, in more pods if need be, or choose a queue of whole GPUs: `ava queue`."),
        )
        for i, role in enumerate(spec.roles)
        if role.each.gpu > 1
    ]
