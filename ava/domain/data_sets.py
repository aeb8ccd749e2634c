"""Data sets: what they are, where their bytes come from, who may have them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from ava.domain.compat import dataclass
from ava.domain.folders import Bound, Flex, FolderKind, inner
from ava.domain.names import shown
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem, ValidationProblems

Part = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$")
]
"""A path of plain names: none of them is ``..`` or hidden, none is empty."""
Root = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$", max_length=1000)]
"""The same from the root."""
Image = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=200)]
"""A name in ceph's block layer that no program takes for an option, a pool or a snapshot."""
Server = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$", max_length=253
    ),
]
"""A host name, or an IPv4 address."""


def _not_local(name: str) -> str:
    """Refuse what is made for clones of volumes, and goes with them."""
    if name.startswith("pvc-"):
        raise ValidationProblems(
            [
                Problem(
                    "snapshot-of-volume",
                    Phrase(
                        "A snapshot whose name begins with pvc- belongs to a volume of pods and is removed with it."
                    ),
                    found=shown(name),
                    wanted=Phrase("a snapshot whose name begins otherwise"),
                    remedy=Phrase("Make a snapshot for this data set (rbd snap create) and name that."),
                )
            ]
        )
    return name


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


class HdfsSource(_Strict):
    """A folder of an HDFS that the site has behind its cache, read-only; administrators alone may name one.

    Attributes:
        store: the name under which the site has it: the folder of the cache where it is seen.
        path: in what is mounted there; None: all of it.
    """

    kind: Literal["hdfs"]
    store: Image
    path: Annotated[Part, StringConstraints(max_length=1000)] | None = None


class RbdSource(_Strict):
    """A snapshot of a block image with ext4, in the pool of pods' volumes; read-only.

    It may be of anybody's image, so administrators alone may name one.
    """

    kind: Literal["rbd"]
    image: Image
    snapshot: Annotated[Image, AfterValidator(_not_local)]


class NfsSource(_Strict):
    """A folder of an NFS server that the site allows, read-only; administrators alone may name one."""

    kind: Literal["nfs"]
    server: Server
    path: Root


Source = Union[FolderSource, CacheSource, HdfsSource, RbdSource, NfsSource]  # noqa: UP007  Python 3.9
KINDS: dict[str, type[BaseModel]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(Source)
}
"""Kind to its model."""
OWN = (FolderSource, RbdSource)
"""Sources of which the platform makes something, which is removed with the data set."""
CACHED = ("cache", "hdfs")
"""Kinds of sources that are read through the cache."""
_SOURCE: TypeAdapter[Source] = TypeAdapter(Annotated[Source, Field(discriminator="kind")])


def source(fields: Mapping[str, Any]) -> Source:
    """Return a source as the database has it; pydantic's ValidationError for one that there is not."""
    return _SOURCE.validate_python(dict(fields))


def below(chosen: CacheSource | HdfsSource) -> str:
    """Return the path in the cache at which a data set's files are seen."""
    if isinstance(chosen, CacheSource):
        return chosen.path
    return f"{chosen.store}/{chosen.path}" if chosen.path else chosen.store


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
class FolderSpec:
    """How a folder of the shared file system has to be.

    Attributes:
        uid: of who owns the inner folder; None: root.
        gid: of the group that may write there; None: none.
        quota: bytes; None: the site's default, or no limit.
        gone: it is to be removed.
    """

    kind: FolderKind
    name: str
    uid: int | None = None
    gid: int | None = None
    quota: int | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class ExternalSource:
    """What was last seen of a data set whose bytes lie elsewhere.

    Attributes:
        volume: what nodes mount of a snapshot; empty: it cannot be mounted (yet).
        size: bytes of its files; None: not measured.
        cached: how many of them the cache holds.
        seen: when that was measured; with no size, when it was looked for and not there.
        trouble: what keeps it from being read, in a sentence.
    """

    data_set: str
    volume: str = ""
    size: int | None = None
    cached: int | None = None
    seen: datetime | None = None
    trouble: str = ""


def bound(name: str, one: DataSet, write: bool, cache: str, there: ExternalSource | None = None) -> Bound:
    """Return a data set as pods see it below a name; ``cache`` is where nodes have Alluxio, empty: nowhere.

    Raises ValueError where this site has no such thing.
    """
    chosen = source(one.source)
    if isinstance(chosen, FolderSource):
        return Bound(name, inner(FolderKind.DATA_SET, one.id), write)
    if isinstance(chosen, RbdSource):
        volume = there.volume if there else ""
        options = {"kind": "rbd", "image": volume, "access": "ro"}
        return Bound(name, flex=Flex(volume, options, "avadm.io/rbd"))
    if isinstance(chosen, NfsSource):
        options = {"kind": "nfs", "server": chosen.server, "path": chosen.path, "access": "ro"}
        return Bound(name, flex=Flex(nfs_volume(chosen.server, chosen.path), options, "avadm.io/nfs"))
    if not cache:
        raise ValueError(f"data set {one.name}: this site's nodes have no cache (Alluxio) to read it through")
    return Bound(name, f"{cache.rstrip('/')}/{below(chosen)}")


def nfs_volume(server: str, path: str) -> str:
    """Return the name under which a node mounts a folder of a server once for all pods (avadm_node/agents/volumes/nfs.py)."""
    return "nfs-" + hashlib.sha256(f"{server}:{path}".encode()).hexdigest()[:32]
