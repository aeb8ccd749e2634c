"""What runs have while their pods have nodes: written by the operator, billed, and never edited but for its end."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.base import Base, writing
from ava.db.lookup import Lock, run_row
from ava.db.tables import allocations, charges, runs
from ava.domain.resources import Resources


class Allocations(Base):
    """Allocations, as the operator sees them."""

    @writing
    def record(
        self,
        connection: Connection,
        run: str,
        amount: Resources,
        now: datetime,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> datetime | None:
        """Keep what a run has from ``since`` on, or had until ``until``; return when it first had something.

        The same again changes nothing. Times that cannot be (of a clock that is wrong) are moved to the nearest that can:
        after what was kept before and after the admission, and not later than ``now``.
        """
        row = run_row(connection, run, Lock.NO_KEY_UPDATE)
        first: datetime | None = row.started
        query = select(charges).where(charges.c.run == run, charges.c.ended.is_(None))
        charge = connection.execute(query).one_or_none()
        if charge is None:
            return first
        mine = select(allocations).where(allocations.c.run == run).order_by(allocations.c.id.desc()).limit(1)
        last = connection.execute(mine).one_or_none()
        present = None if last is None or last.ended is not None else last
        least = charge.began if last is None else max(charge.began, last.ended or last.began)
        most = max(now, least)
        if until is not None:
            end = min(max(until, least), most)
            if present is not None:
                close(connection, run, end)
                return first
            begin = end if since is None else min(max(since, least), most)
            return _open(connection, row, charge.id, amount, begin, end) if end > begin else first
        if present is not None and Resources(present.gpu, present.cpu, present.memory) == amount:
            return first
        begin = min(max(since or now, least), most)
        close(connection, run, begin)
        return _open(connection, row, charge.id, amount, begin)


def close(connection: Connection, run: str, end: datetime) -> Resources | None:
    """End what a run has now, not before it began; return how much that was, None for nothing."""
    query = select(allocations).where(allocations.c.run == run, allocations.c.ended.is_(None))
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    update = allocations.update().where(allocations.c.id == row.id)
    connection.execute(update.values(ended=max(end, row.began)))
    return Resources(row.gpu, row.cpu, row.memory)


def insert(
    connection: Connection,
    run: str,
    charge: int,
    amount: Resources,
    begin: datetime,
    end: datetime | None = None,
) -> None:
    """Add an allocation of a charge."""
    row = {"run": run, "charge": charge, **amount._asdict(), "began": begin, "ended": end}
    connection.execute(allocations.insert().values(row))


def _open(
    connection: Connection,
    row: Row[Any],
    charge: int,
    amount: Resources,
    begin: datetime,
    end: datetime | None = None,
) -> datetime | None:
    first: datetime | None = row.started
    if amount == Resources():
        return first
    insert(connection, row.id, charge, amount, begin, end)
    if first is None:
        connection.execute(runs.update().where(runs.c.id == row.id).values(started=begin))
    return first or begin
