"""Which pools runs go to: recorded when they are admitted, and in the way of changes under which they would wait for ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db import records
from ava.db.tables import pools, queues, runs
from ava.domain.model import Phase, Pool
from ava.domain.phrases import Phrase
from ava.domain.placement.pools import pool_for
from ava.domain.problems import ApiError, conflict

NAMED = 10
"""Runs that a refusal names."""
KINDS = {"gpu": True, "cpu": False}


def pools_of(connection: Connection, row: Row[Any]) -> dict[str, str]:
    """Return where a run's pods go, by ``gpu`` and ``cpu``; those pools are not removed until the transaction ends."""
    held = select(pools).order_by(pools.c.name).with_for_update(read=True, key_share=True)
    known = [records.pool(one) for one in connection.execute(held)]
    named = connection.execute(select(queues.c.pool).where(queues.c.name == row.queue)).scalar()
    kinds = {"gpu" if _gpus(role) else "cpu" for role in _roles(row.outline)}
    found = {kind: named or pool_for(KINDS[kind], None, known) for kind in sorted(kinds)}
    return {kind: pool for kind, pool in found.items() if pool is not None}


def admitted_to(connection: Connection, pool: str) -> list[str]:
    """Return the admitted runs whose pods go to a pool, each as name and id."""
    query = select(runs.c.name, runs.c.id, runs.c.pools).where(runs.c.phase == Phase.ADMITTED)
    rows = connection.execute(query.order_by(runs.c.id))
    return [f"{row.name} ({row.id})" for row in rows if pool in (row.pools or {}).values()]


def told(found: list[str], what: str) -> str:
    """Return how many runs there are, and the names of the first."""
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"{len(found)} run{'s' if len(found) != 1 else ''} {what}: {', '.join(found[:NAMED])}{more}"


def check_change(connection: Connection, pool: Pool) -> None:
    """Raise a refusal where a change of a pool would leave runs waiting for ever."""
    before = connection.execute(
        select(pools).where(pools.c.name == pool.name).with_for_update()
    ).one_or_none()
    if before is None:
        return
    if before.gpu != pool.gpu and (inside := admitted_to(connection, pool.name)):
        raise conflict(
            "pool-in-use",
            Phrase("The pool {pool} cannot change its kind now.", pool=pool.name),
            Phrase("pool {name}", name=pool.name),
            Phrase("Wait until these runs have ended, or stop them; then do it again."),
            found=told(inside, "admitted to it"),
            wanted=Phrase("none"),
        )
    named = select(queues.c.name).where(queues.c.pool == pool.name, queues.c.deleted.is_(None))
    check_shared(connection, pool, list(connection.execute(named).scalars()))


def check_shared(connection: Connection, pool: Pool, lines: Iterable[str]) -> None:
    """Raise a refusal where a pool of shared cards would get pods with several GPUs, which never start there.

    ``lines`` are the queues that send their runs to it. An admitted run stays in the pool that it was admitted to.
    """
    if not (pool.gpu and pool.gpu_slots > 1):
        return
    mine = set(lines)
    query = select(runs.c.name, runs.c.id, runs.c.queue, runs.c.phase, runs.c.pools, runs.c.outline)
    query = query.where(runs.c.phase != Phase.FINISHED, runs.c.gpu > 1).order_by(runs.c.id)
    found = [
        f"{row.name} ({row.id})"
        for row in connection.execute(query)
        if (pool.name in row.pools.values() if row.pools else row.queue in mine)
        and any(_gpus(role) > 1 for role in _roles(row.outline))
    ]
    if found:
        raise _several(pool, found)


def _several(pool: Pool, found: list[str]) -> ApiError:
    return conflict(
        "pool-one-slot",
        Phrase(
            "Pods with several GPUs never start in the pool {pool}, which shares its cards.", pool=pool.name
        ),
        Phrase("pool {name}", name=pool.name),
        Phrase("Wait until these runs have ended, or stop them; then do it again."),
        found=told(found, "with more than 1 GPU in a pod"),
        wanted=Phrase("none"),
    )


def _roles(outline: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [role for role in outline.get("roles") or [{}] if isinstance(role, Mapping)]


def _gpus(role: Mapping[str, Any]) -> int:
    return int((role.get("each") or {}).get("gpu") or 0)
