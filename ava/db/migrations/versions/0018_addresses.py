"""Host names of services with 80 bits; services that have run before keep theirs, which have 40."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the column; NULL is the former name."""
    label = sa.String(63, collation="C").with_variant(sa.String(63), "sqlite")
    op.add_column(
        "services",
        sa.Column("address", label, comment="first label of its host name; NULL: the former one, of 40 bits"),
    )
