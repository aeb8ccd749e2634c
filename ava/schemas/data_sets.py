"""Data sets, their files, and folders of the shared file system."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError

from ava.domain.data_sets import KINDS, FolderSource, Source, source
from ava.domain.problems import ValidationProblems
from ava.schemas.common import Answer, GroupName, PageQuery, Request, UserName, Worded
from ava.schemas.validation import problems

Bytes = Annotated[int, Field(ge=2**20, le=2**60)]
DataSetName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?$", max_length=200)
]


def _source(value: Any) -> Any:
    """Return a source, a folder by default; Wrong with all that is wrong, each at its own field."""
    if not isinstance(value, dict):
        return value
    report = {"kind": "folder", **value}
    try:
        return source(report)
    except ValidationError as error:
        # pydantic puts the kind before each place, and tells of a wrong kind at the source itself.
        kinds = ", ".join(map(repr, KINDS))
        unknown = {
            "type": "literal_error",
            "loc": ("kind",),
            "input": report["kind"],
            "ctx": {"expected": kinds},
        }
        rows = error.errors(include_url=False)
        raise ValidationProblems(
            problems([{**row, "loc": row["loc"][1:]} if row["loc"] else unknown for row in rows])
        ) from None


SourceIn = Annotated[Source, Field(discriminator="kind"), BeforeValidator(_source)]
"""Where a data set's bytes come from, by the domain's own rules."""


class DataSetMake(Request):
    """A new data set, in a folder made for it; or, named by administrators alone and only read, of one of four other sources."""

    name: DataSetName
    source: SourceIn = FolderSource()
    quota: Bytes | None = None
    """Its limit, bytes, of a folder alone; null: the site's."""


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
    """A user's home; ``chosen`` is the limit that an administrator has chosen for it, null: none, the site's holds.

    ``data_sets`` is the sum of the limits of the user's data sets, ``data_sets_most`` what that sum may be; null: no limit.
    """

    chosen: int | None = None
    data_sets: int = 0
    data_sets_most: int | None = None


class ElsewhereOut(Answer):
    """What was last seen of a data set whose bytes lie elsewhere.

    ``ready``: nodes can mount it. Of what is read through the cache: ``size`` and how much of that is ``cached``, bytes, as
    of ``seen``; null: not measured.
    """

    ready: bool
    size: int | None
    cached: int | None
    seen: datetime | None
    trouble: Worded


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


class DataSetsQuery(PageQuery):
    """Which data sets."""

    all: bool = False
    """All for administrators; else one's own and those shared with one."""
