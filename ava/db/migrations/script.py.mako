"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Change the tables, keeping what is in them."""
    ${upgrades if upgrades else "raise NotImplementedError"}
