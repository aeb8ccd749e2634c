"""The tables of the shared file system's folders, of data sets and uploads, apart from tables.py for its length alone."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, ForeignKey, Index, Table, text

from ava.db.tables import ID, NAME, PERSON, metadata, runs, users
from ava.db.types import JsonDocument, LongText, ShortText, UnsignedBigInt, UtcDateTime

folders = Table(
    "folders",
    metadata,
    Column("kind", ShortText(20), primary_key=True),
    Column("name", PERSON, primary_key=True),
    Column("made", UtcDateTime),
    Column("quota", UnsignedBigInt),
    Column("used", UnsignedBigInt),
    Column("files", UnsignedBigInt),
    Column("seen", UtcDateTime),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    CheckConstraint("kind IN ('user', 'group', 'data-set')", name="kind"),
    comment="what was last seen of folders of the shared file system; quota is the one in force",
)
data_sets = Table(
    "data_sets",
    metadata,
    Column("id", ID, primary_key=True),
    Column("owner", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("name", NAME, nullable=False),
    Column("source", JsonDocument, nullable=False),
    Column("quota", UnsignedBigInt),
    Column("readers", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("writers", UnsignedBigInt, nullable=False, server_default=text("0")),
    Column("created", UtcDateTime, nullable=False),
    Column("deleted", UtcDateTime),
    Column("removed", UtcDateTime),
    CheckConstraint(
        "readers >= 0 AND writers >= 0 AND writers <= 1 AND (writers = 0 OR readers = 0)", name="one_writer"
    ),
    CheckConstraint("removed IS NULL OR deleted IS NOT NULL", name="removed"),
    comment="one writer or many readers at a time",
)
_KEPT = text("deleted IS NULL")
Index(
    "data_sets_owner_name_key",
    data_sets.c.owner,
    data_sets.c.name,
    unique=True,
    postgresql_where=_KEPT,
    sqlite_where=_KEPT,
)
Index(None, data_sets.c.owner, data_sets.c.id)
elsewhere = Table(
    "elsewhere",
    metadata,
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("volume", ShortText(63), nullable=False, server_default=text("''")),
    Column("size", UnsignedBigInt),
    Column("cached", UnsignedBigInt),
    Column("seen", UtcDateTime),
    Column("trouble", LongText, nullable=False, server_default=text("''")),
    Column("trouble_phrase", JsonDocument),
    comment="what was last seen of data sets whose bytes lie elsewhere",
)
shares = Table(
    "shares",
    metadata,
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("kind", ShortText(20), primary_key=True),
    Column("who", PERSON, primary_key=True),
    Column("since", UtcDateTime, nullable=False),
    CheckConstraint("kind IN ('user', 'group')", name="kind"),
    comment="who may read a data set beside its owner",
)
Index(None, shares.c.kind, shares.c.who)
holds = Table(
    "holds",
    metadata,
    Column("run", ID, ForeignKey(runs.c.id), primary_key=True),
    Column("data_set", ID, ForeignKey(data_sets.c.id), primary_key=True),
    Column("write", Boolean, nullable=False),
    Column("since", UtcDateTime),
    comment="data sets of runs that have not finished; since is empty until the run is admitted",
)
Index(None, holds.c.data_set)
uploads = Table(
    "uploads",
    metadata,
    Column("id", ID, primary_key=True),
    Column("data_set", ID, ForeignKey(data_sets.c.id), nullable=False),
    Column("user_name", PERSON, ForeignKey(users.c.name), nullable=False),
    Column("path", ShortText(4096), nullable=False),
    Column("length", UnsignedBigInt, nullable=False),
    Column("created", UtcDateTime, nullable=False),
    comment="files that are being sent; how much has come is told by the file itself",
)
Index(None, uploads.c.data_set, uploads.c.id)
