"""What a node may still be giving a workbench's disk, which counts in its group's quota."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column; of disks that are there what is wanted, which is never less than what they have."""
    op.add_column(
        "disks", sa.Column("promised", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.execute("UPDATE disks SET promised = wanted")
