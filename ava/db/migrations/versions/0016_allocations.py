"""What runs have while their pods have nodes, which is billed, and the pools that they were admitted to.

What was charged until now stays billed as it was: from admission on.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ID = sa.String(13, collation="C").with_variant(sa.String(13), "sqlite")
OPEN = sa.text("ended IS NULL")
TRIGGERS = {
    "postgresql": (
        "CREATE TRIGGER allocations_kept BEFORE UPDATE OR DELETE ON allocations"
        " FOR EACH ROW EXECUTE FUNCTION ava_keep_charge()",
        "CREATE TRIGGER allocations_not_emptied BEFORE TRUNCATE ON allocations"
        " FOR EACH STATEMENT EXECUTE FUNCTION ava_keep_charge()",
    ),
    "sqlite": (
        """
        CREATE TRIGGER allocations_changed BEFORE UPDATE ON allocations
        WHEN OLD.ended IS NOT NULL OR NEW.ended IS NULL OR NEW.id IS NOT OLD.id OR NEW.run IS NOT OLD.run
            OR NEW.charge IS NOT OLD.charge OR NEW.gpu IS NOT OLD.gpu OR NEW.cpu IS NOT OLD.cpu
            OR NEW.memory IS NOT OLD.memory OR NEW.began IS NOT OLD.began
        BEGIN SELECT RAISE(ABORT, 'an allocation is never changed but for its end'); END
        """,
        """
        CREATE TRIGGER allocations_removed BEFORE DELETE ON allocations
        BEGIN SELECT RAISE(ABORT, 'an allocation is never removed'); END
        """,
    ),
}


def upgrade() -> None:
    """Add table and columns; runs that were admitted count as running since then."""
    op.create_table(
        "allocations",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("charge", SERIAL, nullable=False),
        sa.Column("run", ID, nullable=False),
        sa.Column("gpu", sa.BigInteger(), nullable=False),
        sa.Column("cpu", sa.BigInteger(), nullable=False),
        sa.Column("memory", sa.BigInteger(), nullable=False),
        sa.Column("began", MOMENT, nullable=False),
        sa.Column("ended", MOMENT, nullable=True),
        sa.CheckConstraint("ended IS NULL OR ended >= began", name=op.f("allocations_ended_check")),
        sa.ForeignKeyConstraint(["charge"], ["charges.id"], name=op.f("allocations_charge_fkey")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("allocations_run_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("allocations_pkey")),
        comment="what is billed; append only, as charges",
    )
    op.create_index(
        "allocations_one_open_key",
        "allocations",
        ["run"],
        unique=True,
        postgresql_where=OPEN,
        sqlite_where=OPEN,
    )
    for name in ("run", "charge", "ended"):
        op.create_index(op.f(f"allocations_{name}_idx"), "allocations", [name], unique=False)
    op.execute(
        "INSERT INTO allocations (charge, run, gpu, cpu, memory, began, ended)"
        " SELECT id, run, gpu, cpu, memory, began, ended FROM charges ORDER BY id"
    )
    for statement in TRIGGERS[op.get_bind().dialect.name]:
        op.execute(statement)
    op.add_column("runs", sa.Column("started", MOMENT, comment="when all its pods first had their nodes"))
    op.add_column("runs", sa.Column("pools", DOCUMENT, comment="where its pods go, as it was admitted"))
    op.execute("UPDATE runs SET started = admitted")
