"""The tables of services and of runs that wait for others, apart from tables.py for its length alone."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table, text

from ava.store.tables import ID, metadata, runs
from ava.store.types import Document, Moment, Prose, Whole, Word

services = Table(
    "services",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("wanted", Whole, nullable=False),
    Column("target", Whole, nullable=False),
    Column("settled", Whole, nullable=False),
    Column("since", Moment, nullable=False),
    Column("scaled", Moment, nullable=False),
    Column("trouble", Prose, nullable=False, server_default=text("''")),
    Column("address", Word(63), comment="first label of its host name; NULL: the former one, of 40 bits"),
)
revisions = Table(
    "revisions",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("revision", Whole, primary_key=True),
    Column("spec", Document, nullable=False),
    Column("created", Moment, nullable=False),
    comment="what a service was told to be, append only",
)
predecessors = Table(
    "predecessors",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("before", ID, ForeignKey(runs.c.id), primary_key=True),
)
Index(None, predecessors.c.before)
_ONE = text("kind = 'service' AND phase <> 'finished'")
Index("runs_one_service_key", runs.c.definition, unique=True, postgresql_where=_ONE, sqlite_where=_ONE)
