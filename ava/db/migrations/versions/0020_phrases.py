"""What makes the texts that pages show in other languages: the template and its values, beside the English text."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0020"
down_revision = "0019"
BACKWARD_COMPATIBLE = True
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Add the columns; texts of before stay without, and are shown in English."""
    op.add_column(
        "runs",
        sa.Column("reason_phrase", DOCUMENT, comment="what makes the reason, for readers of other languages"),
    )
    for table in ("services", "elsewhere", "disks"):
        op.add_column(table, sa.Column("trouble_phrase", DOCUMENT))
