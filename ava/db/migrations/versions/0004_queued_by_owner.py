"""An index by which a user's queued runs are counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the index."""
    queued = sa.text("phase = 'queued'")
    op.create_index("runs_queued_idx", "runs", ["owner"], postgresql_where=queued, sqlite_where=queued)
