"""Data sets whose bytes lie elsewhere than in a folder of their own: what was last seen of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, Row, select

from ava.db import tables
from ava.db.base import Base, reading, upsert, writing
from ava.db.records import record
from ava.db.tables import data_sets
from ava.db.types import phrased
from ava.domain.data_sets import DataSet, ExternalSource
from ava.domain.phrases import Phrase, from_document
from ava.domain.problems import Problem


class ExternalSources(Base):
    """What was seen of data sets."""

    @reading
    def list(self, connection: Connection, kind: str) -> Sequence[DataSet]:
        """Return the data sets of a kind of source of which something may be there, deleted ones among them."""
        query = select(data_sets).where(
            data_sets.c.removed.is_(None), data_sets.c.source["kind"].as_string() == kind
        )
        return [record(DataSet, row) for row in connection.execute(query.order_by(data_sets.c.id))]

    @reading
    def get(self, connection: Connection, id: str) -> ExternalSource:
        """Return what was last seen of a data set whose bytes lie elsewhere."""
        return _seen(connection, id)

    @writing
    def record(self, connection: Connection, seen: ExternalSource) -> None:
        """Keep what was seen of it."""
        row = asdict(seen) | phrased("trouble", seen.trouble, 1000)
        new = {name: value for name, value in row.items() if name != "data_set"}
        put = upsert(connection, tables.elsewhere).values(row)
        connection.execute(put.on_conflict_do_update(index_elements=["data_set"], set_=new))


def unready(connection: Connection, id: str) -> Problem | None:
    """Return why a run cannot have a data set that is a snapshot; None for one that nodes can mount, and for all others."""
    row = connection.execute(select(data_sets).where(data_sets.c.id == id)).one()
    if row.source["kind"] != "rbd":
        return None
    seen = _seen(connection, id)
    if seen.volume:
        return None
    what = Phrase("The data set {name} cannot be mounted yet.", name=row.name)
    remedy = Phrase("Tell its owner.") if seen.trouble else Phrase("Wait a moment.")
    return Problem(
        "data-set-not-there",
        what,
        Phrase("data set {id}", id=id),
        seen.trouble,
        Phrase("its snapshot"),
        remedy,
    )


def _seen(connection: Connection, id: str) -> ExternalSource:
    query = select(tables.elsewhere).where(tables.elsewhere.c.data_set == id)
    row: Row[tuple[object, ...]] | None = connection.execute(query).one_or_none()
    if row is None:
        return ExternalSource(id)
    return record(ExternalSource, row, trouble=from_document(row.trouble, row.trouble_phrase))
