"""Data sets, their files, and folders of the shared file system."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ava.api.schemas.common import Answer, GroupName, Request, UserName

Bytes = Annotated[int, Field(ge=2**20, le=2**60)]
DataSetName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?$", max_length=200)
]


class SourceIn(Request):
    """Where its bytes come from: a folder made for it; or, named by administrators alone and only read, one of four others.

    ``cache``: what Alluxio shows at ``path``. ``hdfs``: ``path`` of the HDFS ``store``, one that the site has behind Alluxio;
    without ``path`` all that the site has of it. ``rbd``: ``snapshot`` of the block image ``image``, with ext4, in the pool of
    pods' volumes. ``nfs``: the folder ``path`` of ``server``, one that the site allows.
    """

    kind: Literal["folder", "cache", "hdfs", "rbd", "nfs"] = "folder"
    path: Annotated[str, StringConstraints(max_length=1000)] | None = None
    image: Annotated[str, StringConstraints(max_length=200)] | None = None
    snapshot: Annotated[str, StringConstraints(max_length=200)] | None = None
    server: Annotated[str, StringConstraints(max_length=253)] | None = None
    store: Annotated[str, StringConstraints(max_length=200)] | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as the ledger has it."""
        return self.model_dump(exclude_none=True)


class DataSetMake(Request):
    """A new data set; ``quota`` in bytes, null: no limit of its own."""

    name: DataSetName
    source: SourceIn = SourceIn()


class LimitIn(Request):
    """A limit, bytes; null: none of its own."""

    quota: Bytes | None


class ShareIn(Request):
    """With whom: a user or a group."""

    user: UserName | None = None
    group: GroupName | None = None


class ShareOut(Answer):
    """With whom a data set is shared."""

    kind: str
    who: str
    since: datetime


class FolderOut(Answer):
    """A folder of the shared file system.

    ``made`` null: not yet. ``quota`` is the limit in force, ``used`` what all its files have, as of ``seen``; bytes.
    """

    made: datetime | None
    quota: int | None
    used: int | None
    files: int | None
    seen: datetime | None
    trouble: str


class HomeOut(FolderOut):
    """A user's home; ``chosen`` is the limit that an administrator has chosen for it, null: none, the site's holds."""

    chosen: int | None = None


class ElsewhereOut(Answer):
    """What was last seen of a data set whose bytes lie elsewhere.

    ``ready``: nodes can mount it. Of what is read through the cache: ``size`` and how much of that is ``cached``, bytes, as
    of ``seen``; null: not measured.
    """

    ready: bool
    size: int | None
    cached: int | None
    seen: datetime | None
    trouble: str


class DataSetOut(Answer):
    """A data set; runs that read or write it now are counted. It has either a ``folder`` of its own or lies ``elsewhere``."""

    id: str
    owner: str
    name: str
    source: dict[str, Any]
    quota: int | None
    readers: int
    writers: int
    created: datetime
    folder: FolderOut | None
    elsewhere: ElsewhereOut | None = None


class UseOut(Answer):
    """A run that names a data set and has not finished."""

    run: str
    writes: bool
    admitted: bool


class FileOut(Answer):
    """An entry of a folder; ``path`` is what is sent back, ``changed`` in seconds since 1970."""

    name: str
    path: str
    kind: str
    size: int
    changed: float
