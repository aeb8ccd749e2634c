"""Services with their revisions, and runs that wait for others to succeed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from ava.db.types import JsonDocument, LongText, ShortText, UnsignedBigInt, UtcDateTime

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables and the index that holds a service to one run."""
    op.create_table(
        "services",
        sa.Column("run", ShortText(13), nullable=False),
        sa.Column("wanted", UnsignedBigInt, nullable=False),
        sa.Column("target", UnsignedBigInt, nullable=False),
        sa.Column("settled", UnsignedBigInt, nullable=False),
        sa.Column("since", UtcDateTime, nullable=False),
        sa.Column("scaled", UtcDateTime, nullable=False),
        sa.Column("trouble", LongText, server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("services_run_fkey")),
        sa.PrimaryKeyConstraint("run", name=op.f("services_pkey")),
    )
    op.create_table(
        "revisions",
        sa.Column("run", ShortText(13), nullable=False),
        sa.Column("revision", UnsignedBigInt, nullable=False),
        sa.Column("spec", JsonDocument, nullable=False),
        sa.Column("created", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("revisions_run_fkey")),
        sa.PrimaryKeyConstraint("run", "revision", name=op.f("revisions_pkey")),
        comment="what a service was configured to be, append only",
    )
    op.create_table(
        "predecessors",
        sa.Column("run", ShortText(13), nullable=False),
        sa.Column("before", ShortText(13), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("predecessors_run_fkey")),
        sa.ForeignKeyConstraint(["before"], ["runs.id"], name=op.f("predecessors_before_fkey")),
        sa.PrimaryKeyConstraint("run", "before", name=op.f("predecessors_pkey")),
    )
    op.create_index(op.f("predecessors_before_idx"), "predecessors", ["before"])
    one = sa.text("kind = 'service' AND phase <> 'finished'")
    op.create_index(
        "runs_one_service_key", "runs", ["definition"], unique=True, postgresql_where=one, sqlite_where=one
    )
