"""Connections to PostgreSQL and SQLite: how they begin, how long they wait, when they count as dead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool

from ava.db.base import WRITES
from ava.db.errors import READ_ONLY, unavailable

POOL = 10
OVERFLOW = 5
"""Two replicas of API, operator and scheduler have to fit into PostgreSQL's 100 connections with their listeners."""
SECONDS = {"connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
"""A primary that is gone without a word is noticed in about 11 s, an unsent statement sooner (``tcp_user_timeout``)."""
TIMEOUTS = {
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "30s",
    "timezone": "UTC",
}
SQLITE_BUSY = 10.0


def make_engine(url: URL, password_file: Path | None = None, *, patient: bool = False) -> Engine:
    """Return an engine; it connects when it is first used.

    Args:
        url: without password.
        password_file: read at each connection.
        patient: without time limits for statements and locks, for migrations.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    return _postgresql(url, password_file, {"timezone": "UTC"} if patient else TIMEOUTS)


def _postgresql(url: URL, password_file: Path | None, settings: dict[str, str]) -> Engine:
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    given = {"tcp_user_timeout": 10_000, "application_name": "ava", "options": options, **SECONDS}
    given = {name: value for name, value in given.items() if name not in url.query}
    if "target_session_attrs" not in url.query:
        # Of several hosts the one that takes writes: after a failover that is another one.
        given["target_session_attrs"] = "read-write"
    engine = create_engine(
        url, connect_args=given, pool_size=POOL, max_overflow=OVERFLOW, pool_pre_ping=True, pool_timeout=10
    )

    @event.listens_for(engine, "handle_error")
    def _no_primary(context: ExceptionContext) -> None:
        # The server has become a standby: its connections are useless, another host takes writes.
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY:
            context.is_disconnect = True

    if password_file is not None:

        @event.listens_for(engine, "do_connect")
        def _password(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
            try:
                parameters["password"] = password_file.read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                raise unavailable(error) from error

    return engine


def _sqlite(url: URL) -> Engine:
    memory = url.database in (None, "", ":memory:")
    arguments = {"check_same_thread": False, "timeout": SQLITE_BUSY}
    # A database in memory is its connection: there must never be a second one.
    pool = {"pool_size": 1, "max_overflow": 0} if memory else {"pool_size": POOL, "max_overflow": OVERFLOW}
    engine = create_engine(url, connect_args=arguments, poolclass=QueuePool, pool_timeout=10, **pool)

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        # Transactions begin as configured below, not where the driver thinks they should.
        connection.isolation_level = None
        for pragma in ("foreign_keys=ON", "synchronous=NORMAL", *([] if memory else ["journal_mode=WAL"])):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
