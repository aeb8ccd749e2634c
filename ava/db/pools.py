"""Pools: which nodes runs go to, recorded when they are admitted, and what is in the way of a pool's change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from ava.db import records
from ava.db.base import Base, new_id, reading, refuse, upsert, writing
from ava.db.lookup import Lock, row_of
from ava.db.tables import pools, queues, runs
from ava.domain.model import Phase, Pool
from ava.domain.names import is_id, name_problems, shown
from ava.domain.phrases import Phrase, listed
from ava.domain.placement.pools import pool_for
from ava.domain.problems import ApiError, Problem, conflict, missing, taken

RATIO = 1.0, 100.0
SLOTS = 1, 64
POOLS_BY_NAME = select(pools).order_by(pools.c.name)
NAMED = 10
"""Runs that a refusal names."""
KINDS = {"gpu": True, "cpu": False}


class Pools(Base):
    """Pools: where work goes."""

    @writing
    def put(self, connection: Connection, pool: Pool, *, known: bool | None = None) -> Pool:
        """Make or change a pool; ``known`` true only changes one, false only makes one. 409 while runs are in the way."""
        refuse(_pool_problems(pool))
        check_change(connection, pool)
        values = {
            "name": pool.name,
            "id": pool.id if is_id(pool.id) else new_id("p", datetime.now(UTC)),
            "gpu": pool.gpu,
            "selector": dict(pool.selector),
            "cpu_ratio": float(pool.cpu_ratio),
            "memory_ratio": float(pool.memory_ratio),
            "gpu_slots": pool.gpu_slots,
        }
        changed = {key: value for key, value in values.items() if key not in ("name", "id")}
        new = upsert(connection, pools).values(values)
        change = pools.update().where(pools.c.name == pool.name).values(changed).returning(pools.c.id)
        make = new.on_conflict_do_nothing(index_elements=["name"]).returning(pools.c.id)
        either = new.on_conflict_do_update(index_elements=["name"], set_=changed).returning(pools.c.id)
        id = connection.execute(change if known else make if known is False else either).scalar_one_or_none()
        if id is None:
            raise (
                missing(Phrase("pool {name}", name=shown(pool.name)), "pool")
                if known
                else taken("pool", pool.name, pool.name)
            )
        return replace(pool, id=str(id))

    @reading
    def list(self, connection: Connection) -> Sequence[Pool]:
        """Return all pools by name."""
        return [records.pool(row) for row in connection.execute(POOLS_BY_NAME)]

    @writing
    def delete(self, connection: Connection, name: str) -> None:
        """Delete a pool that no queue names and no run that has not finished goes to; 409 else."""
        known = select(pools).where(pools.c.name == name)
        row = None if name_problems(name, "") else row_of(connection, known, Lock.UPDATE)
        if row is None:
            raise missing(Phrase("pool {name}", name=shown(name)), "pool")
        named = select(queues.c.name).where(queues.c.pool == name, queues.c.deleted.is_(None))
        used: list[str] = [
            Phrase("queue {name}", name=queue)
            for queue in connection.execute(named.order_by(queues.c.name)).scalars()
        ]
        every = [records.pool(row) for row in connection.execute(select(pools))]
        if pool_for(row.gpu, None, every) == name:
            kind = runs.c.gpu > 0 if row.gpu else runs.c.gpu == 0
            open_ones = runs.c.phase != Phase.FINISHED, kind, queues.c.pool.is_(None)
            inside = select(func.count()).select_from(runs.join(queues)).where(*open_ones)
            if count := connection.execute(inside).scalar_one():
                used.append(Phrase("{count} runs that have not finished", count=count))
        if admitted := admitted_to(connection, name):
            used.append(summary(admitted, "admitted to it"))
        if used:
            raise conflict(
                "pool-in-use",
                Phrase("The pool {name} is still used.", name=name),
                Phrase("pool {name}", name=name),
                Phrase(
                    "Give these queues another pool, and wait until the runs have ended, or stop them; then do it again."
                ),
                found=listed(used[:20]),
                wanted=Phrase("nothing"),
            )
        connection.execute(pools.delete().where(pools.c.name == name))


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


def summary(found: list[str], what: str) -> str:
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
            found=summary(inside, "admitted to it"),
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
        found=summary(found, "with more than 1 GPU in a pod"),
        wanted=Phrase("none"),
    )


def _roles(outline: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [role for role in outline.get("roles") or [{}] if isinstance(role, Mapping)]


def _gpus(role: Mapping[str, Any]) -> int:
    return int((role.get("each") or {}).get("gpu") or 0)


def _pool_problems(pool: Pool) -> Sequence[Problem]:
    problems = [*name_problems(pool.name, "name")]
    for name in ("cpu_ratio", "memory_ratio"):
        if not RATIO[0] <= getattr(pool, name) <= RATIO[1]:
            problems.append(out_of_range(name, getattr(pool, name), *RATIO))
    if not SLOTS[0] <= pool.gpu_slots <= SLOTS[1]:
        problems.append(out_of_range("gpu_slots", pool.gpu_slots, *SLOTS))
    if not isinstance(pool.selector, Mapping) or len(pool.selector) > 50:
        problems.append(
            Problem(
                "selector-invalid",
                Phrase("The labels of nodes are not valid."),
                "selector",
                "",
                Phrase("50 labels at most"),
            )
        )
    return problems


def out_of_range(name: str, value: float, low: float, high: float) -> Problem:
    """Return the refusal of a number."""
    return Problem(
        "number-invalid",
        Phrase("{name} is out of range.", name=name),
        name,
        str(value)[:40],
        Phrase("from {least} to {most}", least=f"{low:g}", most=f"{high:g}"),
        Phrase("Correct it."),
    )
