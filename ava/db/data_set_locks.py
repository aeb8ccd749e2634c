"""One writer or many readers of a data set (U8), inside the transactions that submit, admit and end a run.

A run names its data sets when it is submitted and has them from its admission to its end. Having one is counted by a
conditional UPDATE of the data set's row alone: its condition is looked at while the row is locked, and the table's CHECK
says the same once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.data_sets import readable_by
from ava.db.entitlement import revoked
from ava.db.external_sources import unready
from ava.db.lookup import Lock, row_of
from ava.db.tables import data_sets, holds, queues, runs
from ava.domain.model import Phase
from ava.domain.names import is_id, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

MOST_WRITERS = 100
"""Waiting writers of one data set that are looked at."""


def request(connection: Connection, run: str, owner: str, spec: Mapping[str, Any]) -> None:
    """Keep which data sets a new run names. 422 for what its owner may not have, of which no more is reported."""
    named: dict[str, bool] = {}
    problems: list[Problem] = []
    for index, one in enumerate(spec.get("data_sets") or ()):
        where, name, write = f"data_sets[{index}]", str(one["name"]), bool(one.get("write"))
        row = _named(connection, name, owner)
        if row is None:
            problems.append(
                _problem(
                    "data-set-unknown",
                    Phrase("There is no data set {name} that you may read.", name=shown(name)),
                    where,
                )
            )
        elif row.id in named:
            problems.append(
                _problem(
                    "data-set-twice",
                    Phrase("The data set {name} is named more than once.", name=shown(name)),
                    where,
                )
            )
        elif write and row.owner != owner:
            problems.append(
                _problem(
                    "data-set-read-only",
                    Phrase("Only its owner writes the data set {name}.", name=shown(name)),
                    where,
                )
            )
        elif write and row.source["kind"] != "folder":
            what = Phrase(
                "The bytes of the data set {name} lie elsewhere, and are read alone.", name=shown(name)
            )
            problems.append(_problem("data-set-read-only", what, where))
        else:
            named[row.id] = write
    if problems:
        raise ApiError(422, *problems)
    # The data sets' rows were locked when they were looked at: none is deleted until this transaction has ended.
    rows = [{"run": run, "data_set": id, "write": named[id]} for id in sorted(named)]
    if rows:
        connection.execute(holds.insert(), rows)


def acquire(connection: Connection, run: str, owner: str, now: datetime) -> Sequence[Problem]:
    """Give a run its data sets; return which it cannot have now, after which the transaction has to be undone."""
    problems: list[Problem] = []
    query = select(holds).where(holds.c.run == run, holds.c.since.is_(None)).order_by(holds.c.data_set)
    for hold in connection.execute(query).all():
        if missing := unready(connection, hold.data_set):
            problems.append(missing)
            continue
        if not hold.write and (before := _writer_before(connection, run, hold.data_set)):
            problems.append(_behind(connection, hold.data_set, before))
            continue
        free = data_sets.c.writers == 0, *((data_sets.c.readers == 0,) if hold.write else ())
        count = data_sets.c.writers if hold.write else data_sets.c.readers
        update = data_sets.update().where(data_sets.c.id == hold.data_set, *free, readable_by(owner))
        update = update.values({count: count + 1})
        if connection.execute(update).rowcount != 1:
            problems.append(_why_not(connection, hold, owner))
    if not problems:
        connection.execute(
            holds.update().where(holds.c.run == run, holds.c.since.is_(None)).values(since=now)
        )
    return problems


def release(connection: Connection, run: str) -> None:
    """Take from a run that has ended the data sets that it had, and those that it waited for."""
    query = select(holds).where(holds.c.run == run).order_by(holds.c.data_set)
    for hold in connection.execute(query).all():
        if hold.since is not None:
            count = data_sets.c.writers if hold.write else data_sets.c.readers
            update = data_sets.update().where(data_sets.c.id == hold.data_set).values({count: count - 1})
            connection.execute(update)
    connection.execute(holds.delete().where(holds.c.run == run))


def _named(connection: Connection, name: str, owner: str) -> Row[Any] | None:
    """Return the data set that a definition names: by its id, or among its owner's own by its name."""
    # Locked: its deletion is a change of its row, which the reference of a hold would not keep back.
    found = select(data_sets).where(data_sets.c.deleted.is_(None), readable_by(owner))
    if is_id(name) and (row := row_of(connection, found.where(data_sets.c.id == name), Lock.KEY_SHARE)):
        return row
    return row_of(
        connection, found.where(data_sets.c.owner == owner, data_sets.c.name == name), Lock.KEY_SHARE
    )


def _problem(code: str, what: str, where: str) -> Problem:
    return Problem(
        code, what, where, remedy=Phrase("Look at `ava data list`; another's data set is named by its id.")
    )


def _writer_before(connection: Connection, run: str, data_set: str) -> str | None:
    """Return the run that waits for nothing but to write a data set and has its turn before a run; None where there is none.

    Readers that come one after the other would else never leave it the data set.
    """
    order = select(runs.c.id, runs.c.priority, queues.c.priority.label("line"), runs.c.waits_for)
    order = order.join(queues, queues.c.name == runs.c.queue)
    mine = connection.execute(order.where(runs.c.id == run)).one()
    writers = order.join(holds, holds.c.run == runs.c.id).where(
        holds.c.data_set == data_set, holds.c.write, holds.c.since.is_(None), runs.c.phase == Phase.QUEUED
    )
    for row in connection.execute(writers.limit(MOST_WRITERS)):
        codes = {str(reason.get("code")) for reason in row.waits_for}
        earlier = (-row.line, -row.priority, row.id) < (-mine.line, -mine.priority, mine.id)
        if earlier and codes == {"data-set-in-use"}:
            return str(row.id)
    return None


def _behind(connection: Connection, data_set: str, before: str) -> Problem:
    name = connection.execute(select(data_sets.c.name).where(data_sets.c.id == data_set)).scalar_one()
    return Problem(
        "data-set-behind",
        Phrase("An earlier run waits to write the data set {name}.", name=name),
        Phrase("data set {id}", id=data_set),
        Phrase("run {id}", id=before),
        Phrase("no earlier run that writes"),
        Phrase("Wait: it starts after that run."),
    )


def _why_not(connection: Connection, hold: Row[Any], owner: str) -> Problem:
    row = connection.execute(select(data_sets).where(data_sets.c.id == hold.data_set)).one()
    allowed = select(data_sets.c.id).where(data_sets.c.id == row.id, readable_by(owner))
    where = Phrase("data set {id}", id=row.id)
    if connection.execute(allowed).one_or_none() is None:
        return revoked(row, owner)
    having = select(holds.c.run).where(holds.c.data_set == row.id, holds.c.since.is_not(None))
    others = [o.run for o in connection.execute(having.order_by(holds.c.run).limit(5))]
    what = Phrase(
        "The data set {name} is {how} by other runs.",
        name=row.name,
        how=Phrase("written") if row.writers else Phrase("read"),
    )
    return Problem(
        "data-set-in-use",
        what,
        where,
        ", ".join(others),
        "no other run" if hold.write else "no run that writes",
        Phrase("Wait until they have ended."),
    )
