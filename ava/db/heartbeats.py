"""Heartbeats of the programs: that each works, and what it last saw."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from ava.db.base import Base, reading, upsert, writing
from ava.db.tables import signs
from ava.db.types import plain_document

log = logging.getLogger(__name__)
SIGN = 2**20
"""Bytes of what a part tells of itself: a cluster's nodes one by one, a few hundred bytes each."""


class Heartbeats(Base):
    """The last heartbeat of each program."""

    @writing
    def record(self, connection: Connection, part: str, now: datetime, detail: Mapping[str, Any]) -> None:
        """Keep a heartbeat of ``operator``, ``scheduler`` … with what it says of itself."""
        kept = plain_document(detail, size=SIGN)
        if "left_out" in kept:
            log.error(
                "the heartbeat of %s is too large, its details are not kept: %s", part, kept["left_out"]
            )
        row = {"part": part, "at": now, "detail": kept}
        put = upsert(connection, signs).values(row)
        put = put.on_conflict_do_update(
            index_elements=["part"], set_={"at": put.excluded["at"], "detail": put.excluded.detail}
        )
        connection.execute(put)

    @reading
    def list(self, connection: Connection) -> Mapping[str, tuple[datetime, Mapping[str, Any]]]:
        """Return the last heartbeat of each part."""
        return {row.part: (row.at, row.detail) for row in connection.execute(select(signs))}
