"""Users, groups, queues, pools and definitions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")


def _word(length: int) -> sa.String:
    """Compared byte by byte, which SQLite does anyway."""
    return sa.String(length, collation="C").with_variant(sa.String(length), "sqlite")


def _numbers() -> None:
    op.create_table(
        "numbers",
        sa.Column("name", _word(20), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("numbers_pkey")),
        comment="the last uid and gid given; a row is locked by who takes the next",
    )


def _groups() -> None:
    op.create_table(
        "groups",
        sa.Column("name", _word(32), nullable=False),
        sa.Column("id", _word(13), nullable=False),
        sa.Column("gid", sa.BigInteger(), nullable=False),
        sa.Column("quota_gpu", sa.BigInteger(), nullable=True),
        sa.Column("quota_cpu", sa.BigInteger(), nullable=True),
        sa.Column("quota_memory", sa.BigInteger(), nullable=True),
        sa.Column("quota_storage", sa.BigInteger(), nullable=True),
        sa.Column("used_gpu", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("used_cpu", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("used_memory", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column(
            "deleted",
            MOMENT,
            nullable=True,
            comment="kept for its charges; neither name nor gid is given again",
        ),
        sa.CheckConstraint(
            "used_cpu >= 0 AND (quota_cpu IS NULL OR used_cpu <= quota_cpu)",
            name=op.f("groups_used_cpu_check"),
        ),
        sa.CheckConstraint(
            "used_gpu >= 0 AND (quota_gpu IS NULL OR used_gpu <= quota_gpu)",
            name=op.f("groups_used_gpu_check"),
        ),
        sa.CheckConstraint(
            "used_memory >= 0 AND (quota_memory IS NULL OR used_memory <= quota_memory)",
            name=op.f("groups_used_memory_check"),
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("groups_pkey")),
        sa.UniqueConstraint("gid", name=op.f("groups_gid_key")),
        sa.UniqueConstraint("id", name=op.f("groups_id_key")),
    )


def _users() -> None:
    op.create_table(
        "users",
        sa.Column("name", _word(32), nullable=False),
        sa.Column("id", _word(13), nullable=False),
        sa.Column("email", _word(254), nullable=False),
        sa.Column("password", _word(500), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=False),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("state", _word(20), nullable=False),
        sa.Column("default_group", _word(32), nullable=True),
        sa.Column("created", MOMENT, nullable=False),
        sa.CheckConstraint("state IN ('pending', 'active', 'disabled')", name=op.f("users_state_check")),
        sa.ForeignKeyConstraint(["default_group"], ["groups.name"], name=op.f("users_default_group_fkey")),
        sa.PrimaryKeyConstraint("name", name=op.f("users_pkey")),
        sa.UniqueConstraint("email", name=op.f("users_email_key")),
        sa.UniqueConstraint("id", name=op.f("users_id_key")),
        sa.UniqueConstraint("uid", name=op.f("users_uid_key")),
    )
    op.create_index("users_state_name_idx", "users", ["state", "name"], unique=False)


def _members() -> None:
    op.create_table(
        "members",
        sa.Column("group_name", _word(32), nullable=False),
        sa.Column("user_name", _word(32), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["group_name"], ["groups.name"], name=op.f("members_group_name_fkey")),
        sa.ForeignKeyConstraint(["user_name"], ["users.name"], name=op.f("members_user_name_fkey")),
        sa.PrimaryKeyConstraint("group_name", "user_name", name=op.f("members_pkey")),
    )
    op.create_index(
        op.f("members_user_name_group_name_idx"), "members", ["user_name", "group_name"], unique=False
    )


def _pools() -> None:
    op.create_table(
        "pools",
        sa.Column("name", _word(200), nullable=False),
        sa.Column("id", _word(13), nullable=False),
        sa.Column("gpu", sa.Boolean(), nullable=False),
        sa.Column("selector", DOCUMENT, nullable=False),
        sa.Column("cpu_ratio", sa.Float(), nullable=False),
        sa.Column("memory_ratio", sa.Float(), nullable=False),
        sa.Column("gpu_slots", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pools_pkey")),
        sa.UniqueConstraint("id", name=op.f("pools_id_key")),
    )


def _queues() -> None:
    op.create_table(
        "queues",
        sa.Column("name", _word(200), nullable=False),
        sa.Column("id", _word(13), nullable=False),
        sa.Column("pool", _word(200), nullable=True),
        sa.Column("quota_gpu", sa.BigInteger(), nullable=True),
        sa.Column("quota_cpu", sa.BigInteger(), nullable=True),
        sa.Column("quota_memory", sa.BigInteger(), nullable=True),
        sa.Column("used_gpu", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("used_cpu", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("used_memory", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("priority", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "used_cpu >= 0 AND (quota_cpu IS NULL OR used_cpu <= quota_cpu)",
            name=op.f("queues_used_cpu_check"),
        ),
        sa.CheckConstraint(
            "used_gpu >= 0 AND (quota_gpu IS NULL OR used_gpu <= quota_gpu)",
            name=op.f("queues_used_gpu_check"),
        ),
        sa.CheckConstraint(
            "used_memory >= 0 AND (quota_memory IS NULL OR used_memory <= quota_memory)",
            name=op.f("queues_used_memory_check"),
        ),
        sa.ForeignKeyConstraint(["pool"], ["pools.name"], name=op.f("queues_pool_fkey")),
        sa.PrimaryKeyConstraint("name", name=op.f("queues_pkey")),
        sa.UniqueConstraint("id", name=op.f("queues_id_key")),
    )


def _definitions() -> None:
    op.create_table(
        "definitions",
        sa.Column("id", _word(13), nullable=False),
        sa.Column("kind", _word(20), nullable=False),
        sa.Column("owner", _word(32), nullable=False),
        sa.Column("name", _word(200), nullable=False),
        sa.Column("spec", DOCUMENT, nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("deleted", MOMENT, nullable=True),
        sa.CheckConstraint(
            "kind IN ('workbench', 'training', 'service')", name=op.f("definitions_kind_check")
        ),
        sa.ForeignKeyConstraint(["owner"], ["users.name"], name=op.f("definitions_owner_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("definitions_pkey")),
    )
    op.create_index(op.f("definitions_kind_id_idx"), "definitions", ["kind", "id"], unique=False)
    op.create_index(op.f("definitions_name_id_idx"), "definitions", ["name", "id"], unique=False)
    op.create_index(op.f("definitions_owner_id_idx"), "definitions", ["owner", "id"], unique=False)
    op.create_index(
        op.f("definitions_owner_kind_id_idx"), "definitions", ["owner", "kind", "id"], unique=False
    )
    op.create_index(
        "definitions_owner_kind_name_key",
        "definitions",
        ["owner", "kind", "name"],
        unique=True,
        postgresql_where=sa.text("deleted IS NULL"),
        sqlite_where=sa.text("deleted IS NULL"),
    )


def upgrade() -> None:
    """Make the tables, the first uid and gid, and the queue that runs wait in where they name none."""
    _numbers()
    _groups()
    _users()
    _members()
    _pools()
    _queues()
    _definitions()
    op.execute("INSERT INTO numbers (name, last) VALUES ('uid', 19999), ('gid', 19999)")
    op.execute("INSERT INTO queues (name, id, priority) VALUES ('default', 'q000000000000', 50)")
