"""What was last seen of data sets whose bytes lie elsewhere than in a folder of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

MOMENT = sa.DateTime(timezone=True)


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "elsewhere",
        sa.Column("data_set", _word(13), nullable=False),
        sa.Column("volume", _word(63), server_default=sa.text("''"), nullable=False),
        sa.Column("size", sa.BigInteger()),
        sa.Column("cached", sa.BigInteger()),
        sa.Column("seen", MOMENT),
        sa.Column("trouble", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("data_set", name="elsewhere_pkey"),
        sa.ForeignKeyConstraint(["data_set"], ["data_sets.id"], name="elsewhere_data_set_fkey"),
        comment="what was last seen of data sets whose bytes lie elsewhere",
    )
