"""Which pool a run goes to."""

from __future__ import annotations

from collections.abc import Iterable

from ava.domain.model import Pool

DEFAULT = (Pool("gpu", "gpu", True, {}), Pool("cpu", "cpu", False, {}))
"""Where a site has set up none: nodes with GPUs, and nodes without."""


def usable(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Return the site's pools, and for GPU or CPU runs the default one where it has none of that kind."""
    own = tuple(pools)
    names = {pool.name for pool in own}
    missing = (d for d in DEFAULT if d.name not in names and not any(p.gpu == d.gpu for p in own))
    return (*own, *missing)


def pool_for(gpu: bool, queue_pool: str | None, pools: Iterable[Pool]) -> str | None:
    """Return the pool of a run: its queue's, else the first by name for GPU runs or for the others (A-SC1).

    None where the queue's pool is of the other kind: a run without GPUs never takes room on GPU nodes, nor the other way round.
    """
    fitting = sorted(pool.name for pool in usable(pools) if pool.gpu == gpu)
    if queue_pool is not None:
        return queue_pool if queue_pool in fitting else None
    return fitting[0] if fitting else None
