"""Workbenches' disks and how much a group may have of them; workbenches that are never stopped for being idle."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

MOMENT = sa.DateTime(timezone=True)


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Make both tables; a group has no disks until it is given some."""
    op.add_column("groups", sa.Column("quota_disk", sa.BigInteger()))
    op.execute("UPDATE groups SET quota_disk = 0")
    op.create_table(
        "disks",
        sa.Column("definition", _word(13), nullable=False),
        sa.Column("group_name", _word(32), nullable=False),
        sa.Column("cluster", _word(200), nullable=False),
        sa.Column("wanted", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("node", _word(253), server_default=sa.text("''"), nullable=False),
        sa.Column("trouble", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("definition", name="disks_pkey"),
        sa.ForeignKeyConstraint(["definition"], ["definitions.id"], name="disks_definition_fkey"),
        sa.ForeignKeyConstraint(["group_name"], ["groups.name"], name="disks_group_name_fkey"),
        sa.CheckConstraint("wanted > 0 AND size >= 0 AND wanted >= size", name=op.f("disks_size_check")),
        comment="a row goes when nothing of the disk is left in the cluster",
    )
    op.create_index("disks_group_name_idx", "disks", ["group_name"])
    op.create_table(
        "idle_exempt",
        sa.Column("definition", _word(13), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("definition", name="idle_exempt_pkey"),
        sa.ForeignKeyConstraint(["definition"], ["definitions.id"], name="idle_exempt_definition_fkey"),
        comment="workbenches that are never stopped for being idle",
    )
