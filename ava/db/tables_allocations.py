"""What runs have while their pods have nodes."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Table, text

from ava.db.tables import ID, charges, metadata, runs
from ava.db.types import SERIAL, UnsignedBigInt, UtcDateTime

allocations = Table(
    "allocations",
    metadata,
    Column("id", SERIAL, primary_key=True),
    Column("charge", SERIAL, ForeignKey(charges.c.id), nullable=False),
    Column("run", ID, ForeignKey(runs.c.id), nullable=False),
    Column("gpu", UnsignedBigInt, nullable=False),
    Column("cpu", UnsignedBigInt, nullable=False),
    Column("memory", UnsignedBigInt, nullable=False),
    Column("began", UtcDateTime, nullable=False),
    Column("ended", UtcDateTime),
    CheckConstraint("ended IS NULL OR ended >= began", name="ended"),
    comment="what is billed; append only, as charges",
)
_OPEN = text("ended IS NULL")
Index("allocations_one_open_key", allocations.c.run, unique=True, postgresql_where=_OPEN, sqlite_where=_OPEN)
Index(None, allocations.c.run)
Index(None, allocations.c.charge)
Index(None, allocations.c.ended)
