"""What a workbench keeps over its runs, and an index by which the ssh gateway finds whose a key is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

MOMENT = sa.DateTime(timezone=True)


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Make the table and the index."""
    op.create_table(
        "benches",
        sa.Column("definition", _word(13), nullable=False),
        sa.Column("host_key", _word(4000), nullable=False, comment="sealed"),
        sa.Column("host_public", _word(1000), nullable=False),
        sa.Column("token", _word(1000), nullable=False, comment="sealed"),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("active", MOMENT),
        sa.Column("warned", MOMENT),
        sa.PrimaryKeyConstraint("definition", name="benches_pkey"),
        sa.ForeignKeyConstraint(["definition"], ["definitions.id"], name="benches_definition_fkey"),
    )
    # By hash: a long RSA key is more than a page of a B-tree takes.
    op.create_index("keys_value_idx", "keys", ["value"], postgresql_using="hash")
