"""Charging and giving back, inside the transaction that admits or ends a run.

What a group and a queue use is changed by conditional UPDATEs alone: the condition is looked at while the row is locked, so
that no interleaving of transactions exceeds a quota; the tables' CHECKs say the same once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, case, func, literal, select

from ava.db import allocations, records
from ava.db.tables import charges, groups, queues
from ava.domain.amounts import UNLIMITED
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.quota import waits_for_quota
from ava.domain.resources import FIELDS, Resources


def charge(
    connection: Connection, run: Row[Any], now: datetime, has: Resources | None = None
) -> Sequence[Problem]:
    """Charge a run's group and queue; return what has no room, after which the transaction has to be undone.

    ``has`` is what it has from its charge before (``release``), and continues having.

    To be called last: everybody wants the rows of the group and the queue. They are changed before the charge refers to
    them, for two transactions that both refer to a row first (a shared lock) would each wait for the other to change it.
    """
    asks = Resources(run.gpu, run.cpu, run.memory)
    problems = [
        *_take(connection, groups, run.group_name, asks, Phrase("group {name}", name=run.group_name)),
        *_take(connection, queues, run.queue, asks, Phrase("queue {name}", name=run.queue)),
    ]
    if not problems:
        row = {"run": run.id, "group_name": run.group_name, "queue": run.queue, "user_name": run.owner}
        # A clock that was set back must not charge twice for a time: a charge begins at the end of the one before.
        last = select(func.max(charges.c.ended)).where(charges.c.run == run.id)
        began = max(now, connection.execute(last).scalar() or now)
        made = charges.insert().values(**row, **asks._asdict(), began=began).returning(charges.c.id)
        id = connection.execute(made).scalar_one()
        if has is not None:
            allocations.insert(connection, run.id, id, has, began)
    return problems


def release(connection: Connection, run: str, now: datetime) -> Resources | None:
    """End a run's charge and give back what was reserved; return what it had on nodes. To be called last, as ``charge``."""
    has = allocations.close(connection, run, now)
    # A clock that was set back must not end a charge before it began.
    end = case((charges.c.began > now, charges.c.began), else_=literal(now, charges.c.began.type))
    update = charges.update().where(charges.c.run == run, charges.c.ended.is_(None)).values(ended=end)
    for row in connection.execute(update.returning(charges)).all():
        for table, name in ((groups, row.group_name), (queues, row.queue)):
            less = {f"used_{part}": table.c[f"used_{part}"] - getattr(row, part) for part in FIELDS}
            connection.execute(table.update().where(table.c.name == name).values(less))
    return has


def _take(connection: Connection, table: Table, name: str, asks: Resources, whose: str) -> Sequence[Problem]:
    used = {part: table.c[f"used_{part}"] for part in FIELDS}
    room = [
        used[part] + amount <= func.coalesce(table.c[f"quota_{part}"], UNLIMITED)
        for part, amount in asks._asdict().items()
    ]
    more = {f"used_{part}": used[part] + amount for part, amount in asks._asdict().items()}
    update = table.update().where(table.c.name == name, *room).values(more)
    if connection.execute(update.returning(table.c.name)).one_or_none() is not None:
        return ()
    row = connection.execute(select(table).where(table.c.name == name)).one()
    problems = waits_for_quota(asks, records.quota(row), records.used(row), whose)
    # Room was made between the two statements: it is asked for again soon.
    return problems or [
        Problem("changed-meanwhile", Phrase("The use of {whose} has just changed.", whose=whose), whose)
    ]
