"""The audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.base import (
    Base,
    number_cursor,
    page,
    reading,
    writing,
)
from ava.db.tables import audit
from ava.db.types import plain, plain_document
from ava.domain.model import Page


class AuditLog(Base):
    """Who did what, when and from where."""

    @writing
    def write(
        self,
        connection: Connection,
        now: datetime,
        *,
        who: str,
        action: str,
        object: str,
        outcome: str,
        address: str,
        detail: Mapping[str, Any],
    ) -> None:
        """Write a line of the audit log."""
        write_line(
            connection,
            now,
            who=who,
            action=action,
            object=object,
            outcome=outcome,
            address=address,
            detail=detail,
        )

    @reading
    def list(
        self,
        connection: Connection,
        *,
        who: str | None = None,
        object: str | None = None,
        action: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Mapping[str, Any]]:
        """Return lines of the audit log, newest first."""
        query = select(audit)
        if who is not None:
            query = query.where(audit.c.who == who)
        if object is not None:
            query = query.where(audit.c.object == object)
        if action is not None:
            query = query.where(audit.c.action == action)
        return page(connection, query, audit.c.id, _line, after=number_cursor(after), limit=limit)


def write_line(
    connection: Connection,
    now: datetime,
    *,
    who: str,
    action: str,
    object: str,
    outcome: str,
    address: str = "",
    detail: Mapping[str, Any],
) -> None:
    """Write a line of the audit log in a transaction; what strangers sent is cut, for a line must never be missing."""
    line = {
        "at": now,
        "who": plain(who, 254),
        "action": plain(action, 200),
        "object": plain(object, 500),
        "outcome": plain(outcome, 200),
        "address": plain(address, 200),
        "detail": plain_document(detail),
    }
    connection.execute(audit.insert().values(line))


def _line(row: Row[Any]) -> Mapping[str, Any]:
    return {column.name: getattr(row, column.name) for column in audit.c}
