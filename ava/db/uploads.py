"""Files that are being sent into data sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from ava.db.base import Base, new_id, reading, writing
from ava.db.data_sets import data_set_row
from ava.db.lookup import Lock, user_row
from ava.db.records import record
from ava.db.tables import uploads
from ava.domain.data_sets import Upload
from ava.domain.names import is_id, shown
from ava.domain.phrases import Phrase
from ava.domain.problems import conflict, missing

MOST_UPLOADS = 1000
"""Files that may be on their way into one data set at once."""


class Uploads(Base):
    """Uploads."""

    @writing
    def create(
        self, connection: Connection, data_set: str, user: str, path: str, length: int, now: datetime
    ) -> Upload:
        """Begin to send a file."""
        person = user_row(connection, user, Lock.KEY_SHARE).name
        data_set_row(connection, data_set, Lock.KEY_SHARE)
        if (
            len(connection.execute(select(uploads.c.id).where(uploads.c.data_set == data_set)).all())
            >= MOST_UPLOADS
        ):
            raise conflict(
                "too-many-uploads",
                Phrase("As many files are on their way as may be."),
                Phrase("data set"),
                Phrase("Send some to their end, or give them up."),
                wanted=Phrase("less than {most}", most=MOST_UPLOADS),
            )
        row = {
            "id": new_id("w", now),
            "data_set": data_set,
            "user_name": person,
            "path": path,
            "length": length,
            "created": now,
        }
        return _upload(connection.execute(uploads.insert().values(row).returning(uploads)).one())

    @reading
    def get(self, connection: Connection, id: str) -> Upload:
        """Return a file that is being sent."""
        row = (
            connection.execute(select(uploads).where(uploads.c.id == id)).one_or_none() if is_id(id) else None
        )
        if row is None:
            raise missing(f"upload {shown(id)}", "upload")
        return _upload(row)

    @reading
    def list(self, connection: Connection, data_set: str) -> Sequence[Upload]:
        """Return the files that are being sent into a data set, oldest first."""
        query = select(uploads).where(uploads.c.data_set == data_set).order_by(uploads.c.id)
        return [_upload(row) for row in connection.execute(query)]

    @reading
    def list_stale(self, connection: Connection, before: datetime) -> Sequence[Upload]:
        """Return uploads that began before a time, oldest first."""
        query = select(uploads).where(uploads.c.created < before).order_by(uploads.c.id).limit(MOST_UPLOADS)
        return [_upload(row) for row in connection.execute(query)]

    @writing
    def delete(self, connection: Connection, id: str) -> None:
        """Forget an upload: it is in its place, or was given up. Idempotent."""
        connection.execute(uploads.delete().where(uploads.c.id == id))


def _upload(row: Row[Any]) -> Upload:
    return record(Upload, row, user=row.user_name)
