"""Runs and their charges."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


# Charges are append only: nothing of one changes but its end, once, and none is removed.
TRIGGERS = {
    "postgresql": (
        """
        CREATE FUNCTION ava_keep_charge() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF OLD.ended IS NULL AND NEW.ended IS NOT NULL
                   AND to_jsonb(OLD) - 'ended' = to_jsonb(NEW) - 'ended' THEN
                    RETURN NEW;
                END IF;
            END IF;
            RAISE EXCEPTION 'a charge is never changed but for its end, and never removed';
        END $$
        """,
        "CREATE TRIGGER charges_kept BEFORE UPDATE OR DELETE ON charges"
        " FOR EACH ROW EXECUTE FUNCTION ava_keep_charge()",
        "CREATE TRIGGER charges_not_emptied BEFORE TRUNCATE ON charges"
        " FOR EACH STATEMENT EXECUTE FUNCTION ava_keep_charge()",
    ),
    "sqlite": (
        """
        CREATE TRIGGER charges_changed BEFORE UPDATE ON charges
        WHEN OLD.ended IS NOT NULL OR NEW.ended IS NULL OR NEW.id IS NOT OLD.id OR NEW.run IS NOT OLD.run
            OR NEW.group_name IS NOT OLD.group_name OR NEW.queue IS NOT OLD.queue
            OR NEW.user_name IS NOT OLD.user_name OR NEW.gpu IS NOT OLD.gpu OR NEW.cpu IS NOT OLD.cpu
            OR NEW.memory IS NOT OLD.memory OR NEW.began IS NOT OLD.began
        BEGIN SELECT RAISE(ABORT, 'a charge is never changed but for its end'); END
        """,
        """
        CREATE TRIGGER charges_removed BEFORE DELETE ON charges
        BEGIN SELECT RAISE(ABORT, 'a charge is never removed'); END
        """,
    ),
}


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _word(13), nullable=False),
        sa.Column("definition", _word(13), nullable=False),
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("name", _word(200), nullable=False),
        sa.Column("owner", _word(32), nullable=False),
        sa.Column("group_name", _word(32), nullable=False),
        sa.Column("queue", _word(200), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.Column("cluster", _word(200), nullable=False),
        sa.Column("key", _word(200), nullable=False),
        sa.Column("spec", DOCUMENT, nullable=False),
        sa.Column("gpu", sa.BigInteger(), nullable=False),
        sa.Column("cpu", sa.BigInteger(), nullable=False),
        sa.Column("memory", sa.BigInteger(), nullable=False),
        sa.Column("phase", _word(20), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("admitted", MOMENT, nullable=True),
        sa.Column("stop", MOMENT, nullable=True),
        sa.Column("finished", MOMENT, nullable=True),
        sa.Column("outcome", _word(20), nullable=True),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("waits_for", DOCUMENT, nullable=False),
        sa.CheckConstraint(
            "(phase = 'finished') = (finished IS NOT NULL) AND (phase = 'finished') = (outcome IS NOT NULL)",
            name=op.f("runs_finished_check"),
        ),
        sa.CheckConstraint("phase <> 'admitted' OR admitted IS NOT NULL", name=op.f("runs_admitted_check")),
        sa.CheckConstraint("phase IN ('queued', 'admitted', 'finished')", name=op.f("runs_phase_check")),
        sa.ForeignKeyConstraint(["definition"], ["definitions.id"], name=op.f("runs_definition_fkey")),
        sa.ForeignKeyConstraint(["group_name"], ["groups.name"], name=op.f("runs_group_name_fkey")),
        sa.ForeignKeyConstraint(["owner"], ["users.name"], name=op.f("runs_owner_fkey")),
        sa.ForeignKeyConstraint(["queue"], ["queues.name"], name=op.f("runs_queue_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("runs_pkey")),
        sa.UniqueConstraint("owner", "key", name=op.f("runs_owner_key_key")),
    )
    op.create_index(op.f("runs_definition_id_idx"), "runs", ["definition", "id"], unique=False)
    op.create_index(op.f("runs_group_name_id_idx"), "runs", ["group_name", "id"], unique=False)
    op.create_index(op.f("runs_group_name_kind_id_idx"), "runs", ["group_name", "kind", "id"], unique=False)
    op.create_index(op.f("runs_kind_id_idx"), "runs", ["kind", "id"], unique=False)
    op.create_index(
        "runs_one_workbench_key",
        "runs",
        ["definition"],
        unique=True,
        postgresql_where=sa.text("kind = 'workbench' AND phase <> 'finished'"),
        sqlite_where=sa.text("kind = 'workbench' AND phase <> 'finished'"),
    )
    op.create_index(
        "runs_open_idx",
        "runs",
        ["phase", "id"],
        unique=False,
        postgresql_where=sa.text("phase <> 'finished'"),
        sqlite_where=sa.text("phase <> 'finished'"),
    )
    op.create_index(op.f("runs_owner_id_idx"), "runs", ["owner", "id"], unique=False)
    op.create_index(op.f("runs_owner_kind_id_idx"), "runs", ["owner", "kind", "id"], unique=False)


def _charges() -> None:
    op.create_table(
        "charges",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("run", _word(13), nullable=False),
        sa.Column("group_name", _word(32), nullable=False),
        sa.Column("queue", _word(200), nullable=False),
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("gpu", sa.BigInteger(), nullable=False),
        sa.Column("cpu", sa.BigInteger(), nullable=False),
        sa.Column("memory", sa.BigInteger(), nullable=False),
        sa.Column("began", MOMENT, nullable=False),
        sa.Column("ended", MOMENT, nullable=True),
        sa.CheckConstraint("ended IS NULL OR ended >= began", name=op.f("charges_ended_check")),
        sa.ForeignKeyConstraint(["group_name"], ["groups.name"], name=op.f("charges_group_name_fkey")),
        sa.ForeignKeyConstraint(["queue"], ["queues.name"], name=op.f("charges_queue_fkey")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("charges_run_fkey")),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("charges_user_name_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("charges_pkey")),
        comment="append only: a trigger lets nothing change but the end, once",
    )
    op.create_index(op.f("charges_ended_idx"), "charges", ["ended"], unique=False)
    op.create_index(op.f("charges_group_name_id_idx"), "charges", ["group_name", "id"], unique=False)
    op.create_index(
        "charges_one_open_key",
        "charges",
        ["run"],
        unique=True,
        postgresql_where=sa.text("ended IS NULL"),
        sqlite_where=sa.text("ended IS NULL"),
    )
    op.create_index(op.f("charges_run_idx"), "charges", ["run"], unique=False)
    op.create_index(op.f("charges_user_name_id_idx"), "charges", ["user_name", "id"], unique=False)


def upgrade() -> None:
    """Make the tables."""
    _runs()
    _charges()
    for statement in TRIGGERS[op.get_context().dialect.name]:
        op.execute(statement)
