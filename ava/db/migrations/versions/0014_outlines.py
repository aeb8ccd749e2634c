"""Outlines of definitions and runs: what lists and the scheduler read of a definition, without its variables and commands."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from ava.domain.outline import outline

revision = "0014"
down_revision = "0013"

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
BATCH = 20


def upgrade() -> None:
    """Add the columns, and fill them some rows at a time: a definition of before may have a mebibyte."""
    connection = op.get_bind()
    for name in ("definitions", "runs"):
        op.add_column(name, sa.Column("outline", DOCUMENT, server_default=sa.text("'{}'"), nullable=False))
        rows = sa.table(
            name, sa.column("id", sa.String()), sa.column("spec", DOCUMENT), sa.column("outline", DOCUMENT)
        )
        after = ""
        query = sa.select(rows.c.id, rows.c.spec).order_by(rows.c.id).limit(BATCH)
        while found := connection.execute(query.where(rows.c.id > after)).all():
            for row in found:
                change = rows.update().where(rows.c.id == row.id).values(outline=outline(row.spec))
                connection.execute(change)
            after = found[-1].id
