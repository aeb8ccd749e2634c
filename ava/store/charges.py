"""What was charged, and what was used in a stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Float,
    Numeric,
    case,
    cast,
    distinct,
    extract,
    func,
    literal,
    or_,
    select,
)

from ava.domain.model import Charge, Usage
from ava.domain.problems import Problem
from ava.domain.resources import FIELDS
from ava.store import records
from ava.store.base import Base, check_limit, reading, refuse
from ava.store.lookup import group_name, user_name
from ava.store.tables import charges


class ChargeStore(Base):
    """Charges, read alone: they are made and ended by the runs."""

    @reading
    def charges(
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
        query = select(charges)
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
        """Return what was used between two times by user and group; an open charge counts until ``now``."""
        refuse(_stretch_problems(since, until))
        moment = charges.c.began.type
        first, last = literal(since, moment), literal(min(until, now), moment)
        begin = case((charges.c.began > first, charges.c.began), else_=first)
        end = case((charges.c.ended < last, charges.c.ended), else_=last)
        lasted = _milliseconds(connection, begin, end)
        number = Numeric if connection.dialect.name == "postgresql" else Float
        sums = [
            func.sum(cast(charges.c[name], number) * cast(lasted, number)).label(f"{name}_ms")
            for name in FIELDS
        ]
        query = select(
            charges.c.user_name,
            charges.c.group_name,
            func.count(distinct(charges.c.run)).label("runs"),
            *sums,
        ).where(charges.c.began < last, or_(charges.c.ended.is_(None), charges.c.ended > first))
        if group is not None:
            query = query.where(charges.c.group_name == group_name(connection, group))
        if user is not None:
            query = query.where(charges.c.user_name == user_name(connection, user))
        query = query.group_by(charges.c.user_name, charges.c.group_name)
        query = query.order_by(charges.c.user_name, charges.c.group_name)
        return [
            Usage(
                user=row.user_name,
                group=row.group_name,
                runs=row.runs,
                gpu_seconds=_seconds(row.gpu_ms),
                cpu_seconds=_seconds(row.cpu_ms),
                memory_seconds=_seconds(row.memory_ms),
            )
            for row in connection.execute(query)
        ]


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
        return [Problem("time-without-zone", "A time has no zone.", "since", found, "times with their zones")]
    if since >= until:
        found = f"{since.isoformat()} to {until.isoformat()}"
        return [
            Problem(
                "time-order", "The stretch of time ends before it begins.", "until", found, "later than since"
            )
        ]
    return []
