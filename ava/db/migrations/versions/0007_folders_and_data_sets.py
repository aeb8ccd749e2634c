"""Folders of the shared file system as they are, data sets, who shares and who uses them, uploads; a home's limit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0007"
down_revision = "0006"

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
NUMBER = sa.BigInteger()


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def _folders() -> None:
    op.add_column("users", sa.Column("quota_storage", NUMBER))
    op.create_table(
        "folders",
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("name", _word(32), nullable=False),
        sa.Column("made", MOMENT),
        sa.Column("quota", NUMBER),
        sa.Column("used", NUMBER),
        sa.Column("files", NUMBER),
        sa.Column("seen", MOMENT),
        sa.Column("trouble", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name="folders_pkey"),
        sa.CheckConstraint("kind IN ('user', 'group', 'data-set')", name=op.f("folders_kind_check")),
        comment="what was last seen of folders of the shared file system; quota is the one in force",
    )


def _data_sets() -> None:
    op.create_table(
        "data_sets",
        sa.Column("id", _word(13), nullable=False),
        sa.Column("owner", _word(32), nullable=False),
        sa.Column("name", _word(200), nullable=False),
        sa.Column("source", DOCUMENT, nullable=False),
        sa.Column("quota", NUMBER),
        sa.Column("readers", NUMBER, server_default=sa.text("0"), nullable=False),
        sa.Column("writers", NUMBER, server_default=sa.text("0"), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("deleted", MOMENT),
        sa.Column("removed", MOMENT),
        sa.PrimaryKeyConstraint("id", name="data_sets_pkey"),
        sa.ForeignKeyConstraint(["owner"], ["users.name"], name="data_sets_owner_fkey"),
        sa.CheckConstraint(
            "readers >= 0 AND writers >= 0 AND writers <= 1 AND (writers = 0 OR readers = 0)",
            name=op.f("data_sets_one_writer_check"),
        ),
        sa.CheckConstraint("removed IS NULL OR deleted IS NOT NULL", name=op.f("data_sets_removed_check")),
        comment="one writer or many readers at a time",
    )
    kept = sa.text("deleted IS NULL")
    op.create_index(
        "data_sets_owner_name_key",
        "data_sets",
        ["owner", "name"],
        unique=True,
        postgresql_where=kept,
        sqlite_where=kept,
    )
    op.create_index("data_sets_owner_id_idx", "data_sets", ["owner", "id"])
    op.create_table(
        "shares",
        sa.Column("data_set", _word(13), nullable=False),
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("who", _word(32), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("data_set", "kind", "who", name="shares_pkey"),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="shares_data_set_fkey"),
        sa.CheckConstraint("kind IN ('user', 'group')", name=op.f("shares_kind_check")),
        comment="who may read a data set beside its owner",
    )
    op.create_index("shares_kind_who_idx", "shares", ["kind", "who"])


def _uses() -> None:
    op.create_table(
        "holds",
        sa.Column("run", _word(13), nullable=False),
        sa.Column("data_set", _word(13), nullable=False),
        sa.Column("write", sa.Boolean(), nullable=False),
        sa.Column("since", MOMENT),
        sa.PrimaryKeyConstraint("run", "data_set", name="holds_pkey"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="holds_run_fkey"),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="holds_data_set_fkey"),
        comment="data sets of runs that have not finished; since is empty until the run is admitted",
    )
    op.create_index("holds_data_set_idx", "holds", ["data_set"])
    op.create_table(
        "uploads",
        sa.Column("id", _word(13), nullable=False),
        sa.Column("data_set", _word(13), nullable=False),
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("path", _word(4096), nullable=False),
        sa.Column("length", NUMBER, nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="uploads_pkey"),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="uploads_data_set_fkey"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="uploads_user_name_fkey"),
        comment="files that are being sent; how much has come is the file's size",
    )
    op.create_index("uploads_data_set_id_idx", "uploads", ["data_set", "id"])


def upgrade() -> None:
    """Make the tables."""
    _folders()
    _data_sets()
    _uses()
