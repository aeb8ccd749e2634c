"""Services with their revisions, and runs that wait for others to succeed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from ava.store.types import Document, Moment, Prose, Whole, Word

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables and the index that holds a service to one run."""
    op.create_table(
        "services",
        sa.Column("run", Word(13), nullable=False),
        sa.Column("wanted", Whole, nullable=False),
        sa.Column("target", Whole, nullable=False),
        sa.Column("settled", Whole, nullable=False),
        sa.Column("since", Moment, nullable=False),
        sa.Column("scaled", Moment, nullable=False),
        sa.Column("trouble", Prose, server_default=sa.text("''"), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("services_run_fkey")),
        sa.PrimaryKeyConstraint("run", name=op.f("services_pkey")),
    )
    op.create_table(
        "revisions",
        sa.Column("run", Word(13), nullable=False),
        sa.Column("revision", Whole, nullable=False),
        sa.Column("spec", Document, nullable=False),
        sa.Column("created", Moment, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("revisions_run_fkey")),
        sa.PrimaryKeyConstraint("run", "revision", name=op.f("revisions_pkey")),
        comment="what a service was told to be, append only",
    )
    op.create_table(
        "predecessors",
        sa.Column("run", Word(13), nullable=False),
        sa.Column("before", Word(13), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("predecessors_run_fkey")),
        sa.ForeignKeyConstraint(["before"], ["runs.id"], name=op.f("predecessors_before_fkey")),
        sa.PrimaryKeyConstraint("run", "before", name=op.f("predecessors_pkey")),
    )
    op.create_index(op.f("predecessors_before_idx"), "predecessors", ["before"])
    one = sa.text("kind = 'service' AND phase <> 'finished'")
    op.create_index(
        "runs_one_service_key", "runs", ["definition"], unique=True, postgresql_where=one, sqlite_where=one
    )
