"""What was charged, and what was used in a stretch of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    FromClause,
    Numeric,
    Row,
    Table,
    case,
    cast,
    distinct,
    extract,
    func,
    literal,
    or_,
    select,
)

from ava.db import records
from ava.db.base import Base, check_limit, reading, refuse
from ava.db.lookup import group_name, user_name
from ava.db.tables import allocations, charges, runs
from ava.domain.model import Charge, Phase, Usage
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.resources import FIELDS, Resources


class Charges(Base):
    """Charges, read alone: they are made and ended by the runs."""

    @reading
    def list(
        self,
        connection: Connection,
        *,
        group: str | None = None,
        run: str | None = None,
        open_only: bool = False,
        after: int | None = None,
        limit: int = 1000,
    ) -> Sequence[Charge]:
        """Return charges, oldest first."""
        check_limit(limit)
        first = select(func.min(allocations.c.began)).where(allocations.c.charge == charges.c.id)
        query = select(charges, first.scalar_subquery().label("allocated"))
        if group is not None:
            query = query.where(charges.c.group_name == group_name(connection, group))
        if run is not None:
            query = query.where(charges.c.run == run)
        if open_only:
            query = query.where(charges.c.ended.is_(None))
        if after is not None:
            query = query.where(charges.c.id > after)
        return [records.charge(row) for row in connection.execute(query.order_by(charges.c.id).limit(limit))]

    @reading
    def stopping(self, connection: Connection) -> Mapping[tuple[str, str], Resources]:
        """Return the open charges of runs that are being stopped, summed by ("group" or "queue", its name)."""
        query = select(charges.c.group_name, charges.c.queue, *(charges.c[name] for name in FIELDS))
        query = query.join(runs, runs.c.id == charges.c.run)
        query = query.where(
            runs.c.phase == Phase.ADMITTED, runs.c.stop.is_not(None), charges.c.ended.is_(None)
        )
        total: dict[tuple[str, str], Resources] = {}
        for row in connection.execute(query):
            for key in (("group", row.group_name), ("queue", row.queue)):
                amount = Resources(row.gpu, row.cpu, row.memory)
                total[key] = total.get(key, Resources()).plus(amount)
        return total

    @reading
    def usage(
        self,
        connection: Connection,
        since: datetime,
        until: datetime,
        *,
        now: datetime,
        group: str | None = None,
        user: str | None = None,
    ) -> Sequence[Usage]:
        """Return what was used between two times by user and group, and reserved; what is open counts until ``now``."""
        refuse(_stretch_problems(since, until))
        stretch = since, min(until, now)
        whose = []
        if group is not None:
            whose.append(charges.c.group_name == group_name(connection, group))
        if user is not None:
            whose.append(charges.c.user_name == user_name(connection, user))
        both = allocations.c.ended, charges.c.ended
        # A release before that one ended charges alone.
        ended = case((both[0].is_(None), both[1]), (both[1] < both[0], both[1]), else_=both[0])
        pairs = allocations.join(charges, allocations.c.charge == charges.c.id)
        used = _sums(connection, pairs, allocations, ended, stretch, whose)
        used_by = {(row.user_name, row.group_name): row for row in used}
        found = []
        for row in _sums(connection, charges, charges, charges.c.ended, stretch, whose):
            own = _amounts(used_by.get((row.user_name, row.group_name)))
            reserved = _amounts(row)
            found.append(Usage(row.user_name, row.group_name, row.runs, *own, reserved=reserved))
        return found


def _sums(
    connection: Connection,
    rows: FromClause,
    table: Table,
    ended: ColumnElement[Any],
    stretch: tuple[datetime, datetime],
    whose: Sequence[ColumnElement[bool]],
) -> Sequence[Row[Any]]:
    """Return amount × milliseconds of ``table``'s rows within a stretch of time, by user and group in their order."""
    moment = charges.c.began.type
    first, last = literal(stretch[0], moment), literal(stretch[1], moment)
    begin = case((table.c.began > first, table.c.began), else_=first)
    lasted = _milliseconds(connection, begin, case((ended < last, ended), else_=last))
    number = Numeric if connection.dialect.name == "postgresql" else Float
    sums = [
        func.sum(cast(table.c[name], number) * cast(lasted, number)).label(f"{name}_ms") for name in FIELDS
    ]
    by = charges.c.user_name, charges.c.group_name
    query = select(*by, func.count(distinct(charges.c.run)).label("runs"), *sums).select_from(rows)
    query = query.where(table.c.began < last, or_(ended.is_(None), ended > first), *whose)
    return connection.execute(query.group_by(*by).order_by(*by)).all()


def _amounts(row: Row[Any] | None) -> Resources:
    """Return seconds of each resource."""
    if row is None:
        return Resources()
    return Resources(*(_seconds(getattr(row, f"{name}_ms")) for name in FIELDS))


def _milliseconds(
    connection: Connection, begin: ColumnElement[Any], end: ColumnElement[Any]
) -> ColumnElement[int]:
    if connection.dialect.name == "postgresql":
        return cast(func.round(extract("epoch", end - begin) * 1000), BigInteger)
    return cast(func.round((func.julianday(end) - func.julianday(begin)) * 86_400_000.0), BigInteger)


def _seconds(milliseconds: Decimal | float) -> int:
    return round(milliseconds / 1000)


def _stretch_problems(since: datetime, until: datetime) -> Sequence[Problem]:
    if since.tzinfo is None or until.tzinfo is None:
        found = f"{since.isoformat()} to {until.isoformat()}"
        return [
            Problem(
                "time-without-zone",
                Phrase("A time has no zone."),
                "since",
                found,
                Phrase("times with their zones"),
            )
        ]
    if since >= until:
        found = f"{since.isoformat()} to {until.isoformat()}"
        return [
            Problem(
                "time-order",
                Phrase("The stretch of time ends before it begins."),
                "until",
                found,
                Phrase("later than since"),
            )
        ]
    return []
