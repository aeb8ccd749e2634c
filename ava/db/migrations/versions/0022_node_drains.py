"""Nodes that are drained, and the runs whose owners were notified of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
BACKWARD_COMPATIBLE = True


def _text(length: int) -> sa.types.TypeEngine[str]:
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def upgrade() -> None:
    """Add the tables."""
    time = sa.DateTime(timezone=True)
    op.create_table(
        "node_drains",
        sa.Column("cluster", _text(200), nullable=False),
        sa.Column("node", _text(253), nullable=False),
        sa.Column("asked_by", _text(32), nullable=False),
        sa.Column("begun", time, nullable=False),
        sa.Column("until", time, nullable=False),
        sa.Column("runs_until", time, comment="when trainings are ended; NULL: they end by themselves"),
        sa.PrimaryKeyConstraint("cluster", "node", name="node_drains_pkey"),
        sa.ForeignKeyConstraint(["asked_by"], ["users.name"], name="node_drains_asked_by_fkey"),
        comment="nodes that their runs shall leave; a row goes when pods may come again",
    )
    op.create_table(
        "node_drain_runs",
        sa.Column("cluster", _text(200), nullable=False),
        sa.Column("node", _text(253), nullable=False),
        sa.Column("run", _text(13), nullable=False),
        sa.Column("consented", time, comment="when its owner agreed to its end"),
        sa.PrimaryKeyConstraint("cluster", "node", "run", name="node_drain_runs_pkey"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="node_drain_runs_run_fkey"),
        comment="runs whose owners were notified",
    )
    op.create_index("node_drain_runs_run_idx", "node_drain_runs", ["run"])
