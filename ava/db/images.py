"""Images that users have pushed: what names them, and which are being deleted just now.

No run is started of an image that is gone: a deletion is written here first, then it looks what uses the image; a start is
written here first, then it waits until nothing of that repository is being deleted, then asks the registry for the image.
Whichever of the two writes first, the other one sees it. Both kinds of rows are in one table, distinguished by their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, func, not_, select

from ava.db.base import Base, reading, upsert, writing
from ava.db.records import record
from ava.db.tables import definitions, image_deletions, runs
from ava.domain.model import ImageUse, Phase

START = "start-"
"""How the id of a row begins by which a start claims a repository."""


class Images(Base):
    """Uses and deletions of images."""

    @reading
    def uses(self, connection: Connection, text: str) -> Sequence[ImageUse]:
        """Return the runs that have not finished, and the definitions, in whose image's name a text stands."""
        kept = {
            "run": (runs, runs.c.phase != Phase.FINISHED),
            "definition": (definitions, definitions.c.deleted.is_(None)),
        }
        found = []
        for kind, (table, there) in kept.items():
            image = table.c.spec["image"].as_string()
            query = select(table.c.id, table.c.name, table.c.owner, image.label("image"))
            query = query.where(there, image.contains(text, autoescape=True)).order_by(table.c.id)
            found += [record(ImageUse, row, kind=kind) for row in connection.execute(query)]
        return found

    @writing
    def begin_deletion(self, connection: Connection, id: str, repository: str, until: datetime) -> None:
        """Write that an image of a repository is being deleted, until that time at most; again: until a later one."""
        put = upsert(connection, image_deletions).values(id=id, repository=repository, until=until)
        put = put.on_conflict_do_update(index_elements=["id"], set_={"until": put.excluded.until})
        connection.execute(put)

    @writing
    def end_deletion(self, connection: Connection, id: str) -> None:
        """Write that it is deleted, or stays."""
        connection.execute(image_deletions.delete().where(image_deletions.c.id == id))

    @reading
    def is_being_deleted(self, connection: Connection, repository: str, now: datetime) -> bool:
        """Whether an image of a repository is being deleted."""
        start = image_deletions.c.id.startswith(START, autoescape=True)
        return _is_there(connection, repository, now, not_(start))

    @writing
    def claim(self, connection: Connection, id: str, repository: str, until: datetime) -> None:
        """Write that a run of a repository's image is being started, until that time at most."""
        row = {"id": f"{START}{id}", "repository": repository, "until": until}
        connection.execute(image_deletions.insert().values(row))

    @writing
    def release(self, connection: Connection, id: str) -> None:
        """Write that a start is done, or was refused."""
        connection.execute(image_deletions.delete().where(image_deletions.c.id == f"{START}{id}"))

    @reading
    def is_claimed(self, connection: Connection, repository: str, now: datetime) -> bool:
        """Whether a run of a repository's image is being started."""
        start = image_deletions.c.id.startswith(START, autoescape=True)
        return _is_there(connection, repository, now, start)


def _is_there(connection: Connection, repository: str, now: datetime, which: ColumnElement[bool]) -> bool:
    mine = image_deletions.c.repository == repository, image_deletions.c.until > now, which
    return bool(connection.execute(select(func.count()).where(*mine)).scalar_one())
