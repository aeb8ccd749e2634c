"""Whether an image that users have pushed is being deleted just now, so that no run is started of it meanwhile."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "image_deletions",
        sa.Column("id", _word(40), nullable=False),
        sa.Column("repository", _word(255), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="image_deletions_pkey"),
        comment="deletions of pushed images that are being made; one that broke off counts until its time",
    )
    op.create_index("image_deletions_repository_idx", "image_deletions", ["repository"])
    op.create_index("image_deletions_until_idx", "image_deletions", ["until"])
