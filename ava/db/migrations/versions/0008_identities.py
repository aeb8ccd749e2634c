"""Who people are at the site's login service, and which of its answers were used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

MOMENT = sa.DateTime(timezone=True)


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "identities",
        sa.Column("issuer", _word(500), nullable=False),
        sa.Column("subject", _word(255), nullable=False),
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject", name="identities_pkey"),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name="identities_user_name_fkey"),
        comment="an issuer never gives a subject to another person (OpenID Connect Core, 2), as it may do with names",
    )
    op.create_index("identities_user_name_idx", "identities", ["user_name"])
    op.create_table(
        "spent",
        sa.Column("digest", _word(64), nullable=False),
        sa.Column("until", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="spent_pkey"),
        comment="what is good for one login alone, and was used; forgotten when it would be over anyway",
    )
    op.create_index("spent_until_idx", "spent", ["until"])
