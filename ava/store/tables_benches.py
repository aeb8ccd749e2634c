"""The table of workbenches, apart from tables.py for its length alone."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table

from ava.store.tables import ID, definitions, keys, metadata
from ava.store.types import Moment, Word

benches = Table(
    "benches",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("host_key", Word(4000), nullable=False, comment="sealed"),
    Column("host_public", Word(1000), nullable=False),
    Column("token", Word(1000), nullable=False, comment="sealed"),
    Column("created", Moment, nullable=False),
    Column("active", Moment),
    Column("warned", Moment),
)
# By hash: a long RSA key is more than a page of a B-tree takes.
Index("keys_value_idx", keys.c.value, postgresql_using="hash")
