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
    """Where its bytes come from: a folder made for it, or (administrators alone) what Alluxio shows at a path."""

    kind: Literal["folder", "cache"] = "folder"
    path: Annotated[str, StringConstraints(max_length=1000)] | None = None

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


class DataSetOut(Answer):
    """A data set; runs that read or write it now are counted."""

    id: str
    owner: str
    name: str
    source: dict[str, Any]
    quota: int | None
    readers: int
    writers: int
    created: datetime
    folder: FolderOut | None


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
