"""Transactions: each method of a noun is one, done whole or not at all, and repeated when it lost a race."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from itertools import count
from typing import Any, Concatenate, ParamSpec, TypeVar

import tenacity
from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, Table
from sqlalchemy.dialects import postgresql, sqlite

from ava.db.errors import lost_a_race, translated
from ava.db.types import plain
from ava.domain import names
from ava.domain.model import Page
from ava.domain.names import SERIAL_BITS
from ava.domain.phrases import Phrase
from ava.domain.problems import ApiError, Problem

WRITES = "ava_writes"
"""Execution option of a transaction that writes: SQLite takes its lock at the beginning."""
PAGE_LIMIT = 1000
TRIES = 6
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


_serials = count(random.SystemRandom().randrange(2**SERIAL_BITS))


def new_id(prefix: str, now: datetime) -> str:
    """Return an id; two processes may hit on the same one, and who writes second takes another (``writing``)."""
    return names.new_id(prefix, int(now.timestamp() * 1000), next(_serials))


class Base:
    """What the parts of the database share: the engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.writer = engine.execution_options(**{WRITES: True})


S = TypeVar("S", bound=Base)


def reading(method: Callable[Concatenate[S, Connection, P], R]) -> Callable[Concatenate[S, P], R]:
    """Run a method in a transaction that only reads."""

    @wraps(method)
    def whole(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with translated(), self.engine.begin() as connection:
            return method(self, connection, *args, **kwargs)

    return whole


def writing(method: Callable[Concatenate[S, Connection, P], R]) -> Callable[Concatenate[S, P], R]:
    """Run a method in a transaction that writes; again when another one was faster, for the database has undone it all."""

    def once(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.writer.begin() as connection:
            return method(self, connection, *args, **kwargs)

    @wraps(method)
    def whole(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        repeated = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lost_a_race),
            stop=tenacity.stop_after_attempt(TRIES),
            wait=tenacity.wait_random_exponential(multiplier=0.01, max=0.5),
            reraise=True,
        )
        with translated():
            return repeated(once, self, *args, **kwargs)

    return whole


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT that may say what is done where the row is there."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def outlined(table: Table, *, whole: bool = False) -> Sequence[ColumnElement[Any]]:
    """Return the columns of a table with definitions, each by its outline unless it is ``whole`` (domain/outline.py)."""
    if whole:
        return list(table.c)
    kept = [column for column in table.c if column.name not in ("spec", "outline")]
    return [*kept, table.c.outline.label("spec")]


def page(
    connection: Connection,
    query: Select[Any],
    key: ColumnElement[Any],
    make: Callable[[Row[Any]], T],
    *,
    after: Any,
    limit: int,
    newest_first: bool = True,
) -> Page[T]:
    """Return a page by keyset: what comes after ``after`` in the order of ``key``, which is unique."""
    check_limit(limit)
    if after is not None:
        query = query.where(key < after if newest_first else key > after)
    query = query.order_by(key.desc() if newest_first else key).limit(limit + 1)
    rows = connection.execute(query.add_columns(key.label("cursor"))).all()
    following = str(rows[limit - 1].cursor) if len(rows) > limit else None
    return Page(tuple(make(row) for row in rows[:limit]), following)


def check_limit(limit: int) -> None:
    """Refuse pages that are empty or too long."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise ApiError(
            422,
            Problem(
                "limit-invalid",
                Phrase("A page cannot be so long."),
                "limit",
                str(limit)[:40],
                Phrase("an integer from 1 to {most}", most=PAGE_LIMIT),
                Phrase("Ask for a shorter page and follow its cursor."),
            ),
        )


def number_cursor(after: str | None) -> int | None:
    """Return the number that a cursor is."""
    if after is None:
        return None
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise ApiError(
            422,
            Problem(
                "cursor-invalid",
                Phrase("This is no cursor of this list."),
                "after",
                plain(after, 40),
                Phrase("a page's next"),
            ),
        )
    return int(after)


def refuse(problems: Sequence[Problem], status: int = 422) -> None:
    """Raise a refusal if there is something to refuse."""
    if problems:
        raise ApiError(status, *problems)
