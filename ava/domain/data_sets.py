"""Data sets: what they are, where their bytes come from, who may have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from ava.domain.folders import FolderKind, inner

Part = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$")
]
"""A path of plain names: none of them is ``..`` or hidden, none is empty."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FolderSource(_Strict):
    """A folder of the shared file system, made for this data set."""

    kind: Literal["folder"] = "folder"


class CacheSource(_Strict):
    """A folder of what Alluxio shows, read-only: an S3 bucket's prefix, or what else the site has mounted there.

    Everybody's bytes lie behind it with the site's own key, so administrators alone may name one.
    """

    kind: Literal["cache"]
    path: Annotated[Part, StringConstraints(max_length=1000)]


Source = FolderSource | CacheSource
_SOURCE: TypeAdapter[Source] = TypeAdapter(Annotated[Source, Field(discriminator="kind")])


def source(said: Mapping[str, Any]) -> Source:
    """Return a source as the ledger has it; pydantic's ValidationError for one that there is not."""
    return _SOURCE.validate_python(dict(said))


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set.

    Attributes:
        name: among its owner's.
        quota: bytes; None: no limit of its own.
        readers, writers: runs that have it now; a writer is alone.
    """

    id: str
    owner: str
    name: str
    source: dict[str, Any]
    quota: int | None
    readers: int
    writers: int
    created: datetime
    deleted: datetime | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """Who may read a data set beside its owner.

    Attributes:
        kind: ``user`` or ``group``.
        who: the name.
    """

    kind: str
    who: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is being sent.

    Attributes:
        path: below the data set's folder, with ``/``.
        length: bytes that it will have.
    """

    id: str
    data_set: str
    user: str
    path: str
    length: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a folder of the shared file system has to be.

    Attributes:
        uid: of who owns the inner folder; None: root.
        gid: of the group that may write there; None: nobody.
        quota: bytes; None: the site's default, or no limit.
        gone: it is to be removed.
    """

    kind: FolderKind
    name: str
    uid: int | None = None
    gid: int | None = None
    quota: int | None = None
    gone: bool = False


def path_on_nodes(one: DataSet, cache: str) -> str:
    """Return where a node has a data set: below the shared file system, or an absolute path.

    Raises ValueError where this site has no such thing. ``cache`` is where nodes have Alluxio; empty: nowhere.
    """
    chosen = source(one.source)
    if isinstance(chosen, FolderSource):
        return inner(FolderKind.DATA_SET, one.id)
    if not cache:
        raise ValueError(f"data set {one.name}: this site's nodes have no cache (Alluxio) to read it through")
    return f"{cache.rstrip('/')}/{chosen.path}"
