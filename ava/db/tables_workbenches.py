"""The tables of workbenches, apart from tables.py for its length alone."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Table, text

from ava.db.tables import ID, NAME, PERSON, definitions, groups, keys, metadata
from ava.db.types import JsonDocument, LongText, ShortText, UnsignedBigInt, UtcDateTime

benches = Table(
    "benches",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("host_key", ShortText(4000), nullable=False, comment="sealed"),
    Column("host_public", ShortText(1000), nullable=False),
    Column("token", ShortText(1000), nullable=False, comment="sealed"),
    Column("created", UtcDateTime, nullable=False),
    Column("active", UtcDateTime),
    Column("warned", UtcDateTime),
)
disks = Table(
    "disks",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("group_name", PERSON, ForeignKey(groups.c.name), nullable=False),
    Column("cluster", NAME, nullable=False),
    Column("wanted", UnsignedBigInt, nullable=False),
    Column("size", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("node", ShortText(253), nullable=False, server_default=text("''")),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    Column("created", UtcDateTime, nullable=False),
    Column("promised", UnsignedBigInt, nullable=False, server_default=text("0")),
    CheckConstraint("wanted > 0 AND size >= 0 AND wanted >= size", name="size"),
    comment="a row goes when nothing of the disk is left in the cluster",
)
Index(None, disks.c.group_name)
idle_exempt = Table(
    "idle_exempt",
    metadata,
    Column("definition", ID, ForeignKey(definitions.c.id), primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    comment="workbenches that are never stopped for being idle",
)
# By hash: a long RSA key is more than a page of a B-tree takes.
Index("keys_value_idx", keys.c.value, postgresql_using="hash")
