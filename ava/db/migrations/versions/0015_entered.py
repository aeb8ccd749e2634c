"""When users last logged in; those that are there count from this moment on, so that no token ends by the upgrade."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column."""
    op.add_column("users", sa.Column("entered", sa.DateTime(timezone=True)))
    op.execute("UPDATE users SET entered = CURRENT_TIMESTAMP")
