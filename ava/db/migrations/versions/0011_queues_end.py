"""Queues can be deleted: their runs and charges continue naming them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add when a queue was deleted."""
    op.add_column("queues", sa.Column("deleted", sa.DateTime(timezone=True)))
