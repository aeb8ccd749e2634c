"""Scopes of tokens; existing tokens have none and may do what they could."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column."""
    scopes = sa.String(40, collation="C").with_variant(sa.String(40), "sqlite")
    op.add_column("secrets", sa.Column("scopes", scopes))
