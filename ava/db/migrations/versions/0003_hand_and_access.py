"""The outbox, pods, heartbeats, sessions, tokens, keys, the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


# The audit log is append only. Anyone who writes into the outbox wakes who listens (ava/db/listener.py).
TRIGGERS = {
    "postgresql": (
        """
        CREATE FUNCTION ava_keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'the audit log is never changed';
        END $$
        """,
        "CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE ON audit"
        " FOR EACH ROW EXECUTE FUNCTION ava_keep_audit()",
        "CREATE TRIGGER audit_not_emptied BEFORE TRUNCATE ON audit"
        " FOR EACH STATEMENT EXECUTE FUNCTION ava_keep_audit()",
        """
        CREATE FUNCTION ava_wake() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('ava_' || NEW.topic, '');
            RETURN NULL;
        END $$
        """,
        "CREATE TRIGGER messages_wake AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION ava_wake()",
    ),
    "sqlite": (
        """
        CREATE TRIGGER audit_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END
        """,
        """
        CREATE TRIGGER audit_removed BEFORE DELETE ON audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END
        """,
    ),
}


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("seq", SERIAL, nullable=False),
        sa.Column("topic", _word(20), nullable=False),
        sa.Column("kind", _word(40), nullable=False),
        sa.Column("object", _word(200), nullable=False),
        sa.Column("payload", DOCUMENT, nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("done", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("messages_pkey")),
        comment="the outbox",
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("messages_done_idx"), "messages", ["done"], unique=False)
    op.create_index(
        "messages_open_idx",
        "messages",
        ["topic", "seq"],
        unique=False,
        postgresql_where=sa.text("done IS NULL"),
        sqlite_where=sa.text("done IS NULL"),
    )


def _pods() -> None:
    op.create_table(
        "pods",
        sa.Column("run", _word(13), nullable=False),
        sa.Column("pod", _word(253), nullable=False),
        sa.Column("state", DOCUMENT, nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("pods_run_fkey")),
        sa.PrimaryKeyConstraint("run", "pod", name=op.f("pods_pkey")),
    )


def _signs() -> None:
    op.create_table(
        "signs",
        sa.Column("part", _word(100), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("detail", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("part", name=op.f("signs_pkey")),
    )


def _secrets() -> None:
    op.create_table(
        "secrets",
        sa.Column("id", _word(13), nullable=False),
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("digest", _word(64), nullable=False),
        sa.Column("label", _word(200), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("until", MOMENT, nullable=True),
        sa.Column("used", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("secrets_user_name_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("secrets_pkey")),
        sa.UniqueConstraint("kind", "digest", name=op.f("secrets_kind_digest_key")),
    )
    op.create_index(op.f("secrets_until_idx"), "secrets", ["until"], unique=False)
    op.create_index(
        op.f("secrets_user_name_kind_id_idx"), "secrets", ["user_name", "kind", "id"], unique=False
    )


def _keys() -> None:
    op.create_table(
        "keys",
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("name", _word(200), nullable=False),
        sa.Column("value", _word(20000), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("keys_user_name_fkey")),
        sa.PrimaryKeyConstraint("user_name", "kind", "name", name=op.f("keys_pkey")),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("who", _word(254), nullable=False),
        sa.Column("action", _word(200), nullable=False),
        sa.Column("object", _word(500), nullable=False),
        sa.Column("outcome", _word(200), nullable=False),
        sa.Column("address", _word(200), nullable=False),
        sa.Column("detail", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("audit_pkey")),
        comment="append only: triggers refuse change and removal",
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("audit_object_id_idx"), "audit", ["object", "id"], unique=False)
    op.create_index(op.f("audit_who_id_idx"), "audit", ["who", "id"], unique=False)


def upgrade() -> None:
    """Make the tables."""
    _messages()
    _pods()
    _signs()
    _secrets()
    _keys()
    _audit()
    for statement in TRIGGERS[op.get_context().dialect.name]:
        op.execute(statement)
