"""Runs that begin only when others have succeeded (U8), inside the transactions that make and end them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, func, select

from ava.db.lookup import Lock, run_row
from ava.db.tables import predecessors, runs
from ava.domain.model import Outcome, Phase
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, conflict

CODE = "waits-for-run"
FOLLOWERS = 200
"""Runs that may wait for one: its end ends or frees them all in one transaction."""


def wait_for(connection: Connection, run: str, before: Sequence[str]) -> list[dict[str, Any]]:
    """Keep which runs have to succeed before a new one begins; return why it waits now.

    The earlier runs' rows are held meanwhile, so that none ends unnoticed in between. 409 for one that has ended otherwise, 404
    for one that is not there, 409 where too many wait for it already.
    """
    for id in sorted(set(before)):
        row = run_row(connection, id, Lock.SHARE)
        if row.phase == Phase.FINISHED and row.outcome != Outcome.SUCCEEDED:
            raise conflict(
                "predecessor-failed",
                Phrase("The run {name} has not succeeded, so nothing can come after it.", name=row.name),
                "after",
                Phrase("Start it again, and then this one after the new run."),
                found=Phrase("run {id}: {outcome}", id=id, outcome=row.outcome),
                wanted=Outcome.SUCCEEDED.value,
            )
        count = select(func.count()).select_from(predecessors).where(predecessors.c.before == id)
        if (there := connection.execute(count).scalar_one()) >= FOLLOWERS:
            raise conflict(
                "too-many-followers",
                Phrase("Too many runs wait for {name}.", name=row.name),
                "after",
                Phrase("Let some of them wait for one another."),
                found=str(there),
                wanted=Phrase("less than {most}", most=FOLLOWERS),
            )
        connection.execute(predecessors.insert().values(run=run, before=id))
    return [problem.as_stored() for problem in reasons(connection, run)]


def reasons(connection: Connection, run: str) -> list[Problem]:
    """Return for which runs a run waits still."""
    query = select(runs.c.id, runs.c.name, runs.c.kind).join(predecessors, predecessors.c.before == runs.c.id)
    query = query.where(predecessors.c.run == run, _unmet()).order_by(runs.c.id)
    return [
        Problem(
            CODE,
            Phrase("It begins when the run {id} ({name}) has succeeded.", id=row.id, name=row.name),
            Phrase("run {id}", id=row.id),
            remedy=Phrase("Wait, or stop it and start it without `after`."),
        )
        for row in connection.execute(query)
    ]


def unmet() -> ColumnElement[bool]:
    """Return the condition that a run waits for another one."""
    other = runs.alias("earlier")
    met = other.c.outcome.is_not(None) & (other.c.outcome == Outcome.SUCCEEDED)
    waits = predecessors.join(other, other.c.id == predecessors.c.before)
    return exists(select(1).select_from(waits).where(predecessors.c.run == runs.c.id, ~met))


def _unmet() -> ColumnElement[bool]:
    return runs.c.outcome.is_(None) | (runs.c.outcome != Outcome.SUCCEEDED)


def followers(connection: Connection, run: str) -> Sequence[Row[Any]]:
    """Return the runs that wait for one, each held until the transaction ends."""
    query = select(predecessors.c.run).where(predecessors.c.before == run).order_by(predecessors.c.run)
    found = [run_row(connection, id, Lock.NO_KEY_UPDATE) for id in connection.execute(query).scalars().all()]
    return [row for row in found if row.phase == Phase.QUEUED]


def start_followers(connection: Connection, follower: Row[Any]) -> None:
    """Say for which other runs a follower waits still, if for any."""
    messages = [problem.as_stored() for problem in reasons(connection, follower.id)]
    connection.execute(runs.update().where(runs.c.id == follower.id).values(waits_for=messages))


def failed(row: Any) -> str:
    """Return why what waits for a run ends without having begun."""
    how = {
        Outcome.STOPPED: Phrase("It waited for the run {id} ({name}), which was stopped."),
        Outcome.TIMED_OUT: Phrase("It waited for the run {id} ({name}), which ran out of time."),
    }.get(row.outcome, Phrase("It waited for the run {id} ({name}), which failed."))
    return Phrase(how, id=row.id, name=row.name)
