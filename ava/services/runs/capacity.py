"""What the schedulers last reported of their clusters: what is available now, and what can never fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ava.domain.model import Pool
from ava.domain.phrases import Phrase
from ava.domain.placement.capacity import ClusterCapacity, rooms
from ava.domain.placement.cluster_selector import ANY
from ava.domain.placement.feasibility import infeasible_reasons
from ava.domain.placement.pools import pool_for
from ava.domain.problems import Problem
from ava.domain.spec import Spec
from ava.services.context import Context


def known(context: Context) -> dict[str, ClusterCapacity]:
    """Return what is known of each cluster by name, however old: nodes change seldom."""
    return rooms({name: detail for name, (_, detail) in context.db.heartbeats.list().items()})


def never(
    context: Context, spec: Spec, queue_pool: str | None, pools: Sequence[Pool], where: str
) -> list[Problem]:
    """Return why a definition could never start, even if nothing else ran; empty where that is not sure."""
    gpu = spec.asks().gpu > 0
    pool = pool_for(gpu, queue_pool, pools)
    if pool is None:
        kind = "with GPUs" if gpu else "without GPUs"
        return [
            Problem(
                "queue-pool",
                Phrase("The queue's nodes do not take runs {kind}.", kind=kind),
                f"{where}.queue",
                Phrase("queue {queue}, pool {pool}", queue=spec.queue, pool=queue_pool or ""),
                Phrase("a queue for runs {kind}", kind=kind),
                Phrase("Choose another queue: `ava queue`."),
            )
        ]
    report = known(context)
    asked = [report[name] for name in sorted(report) if spec.cluster in (name, ANY)]
    plain = None if queue_pool else pool_for(False, None, pools)
    refusals = [infeasible_reasons(spec, room, pool, plain) for room in asked]
    if not refusals or not all(refusals):
        return []
    fewest = min(refusals, key=len)
    return [
        replace(p, where=f"{where}.{p.where}" if not p.where.startswith("pool ") else p.where) for p in fewest
    ]
