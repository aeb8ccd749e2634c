"""The tables of services and of runs that wait for others, apart from tables.py for its length alone."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table, text

from ava.db.tables import ID, metadata, runs
from ava.db.types import JsonDocument, LongText, ShortText, UnsignedBigInt, UtcDateTime

services = Table(
    "services",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("wanted", UnsignedBigInt, nullable=False),
    Column("target", UnsignedBigInt, nullable=False),
    Column("settled", UnsignedBigInt, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Column("scaled", UtcDateTime, nullable=False),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    Column(
        "address", ShortText(63), comment="first label of its host name; NULL: the former one, of 40 bits"
    ),
)
revisions = Table(
    "revisions",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("revision", UnsignedBigInt, primary_key=True),
    Column("spec", JsonDocument, nullable=False),
    Column("created", UtcDateTime, nullable=False),
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
