"""Folders of the shared file system: whose they are, where they lie, and how pods see them.

A folder has two levels. The outer one (``groups/NAME``) is root's, carries the limit and is mounted into no pod; the inner
one (``data``) is the users'. So anyone who may do anything within the inner one can neither change the limit nor plant
something at a path that the platform follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ava.domain.compat import StrEnum, dataclass
from ava.domain.model import Group, User

DATA = "data"
GROUPS = "/groups"
"""Where pods see the folders of their owner's groups, each by its name."""
DATA_SETS = "/data"
"""Where pods see data sets, each by its name."""
NODE_LABEL = "avadm.io/cephfs"
"""Label of nodes; ``mounted`` while the shared file system answers there."""
DRIVER = "avadm/volume"
"""Kubelet's driver of volumes that nodes mount themselves."""


class FolderKind(StrEnum):
    """Whose a folder is."""

    USER = "user"
    GROUP = "group"
    DATA_SET = "data-set"


TOP = {FolderKind.USER: "users", FolderKind.GROUP: "groups", FolderKind.DATA_SET: "datasets"}


@dataclass(frozen=True, slots=True)
class Folder:
    """What was last seen of a folder.

    Attributes:
        name: of the user or group; the id of a data set.
        made: since when it can be used; None: not yet.
        quota: bytes, as it is in force; None: no limit.
        used: bytes of all files in it; None: not measured yet.
        files: how many there are.
        seen: when that was measured.
        trouble: what keeps it from being as it should be, in a sentence.
    """

    kind: FolderKind
    name: str
    made: datetime | None = None
    quota: int | None = None
    used: int | None = None
    files: int | None = None
    seen: datetime | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Flex:
    """A volume that a node's own driver mounts (avadm_node/agents/volumes/driver.py).

    Attributes:
        volume: its name, by which the driver finds it again.
        options: of the driver.
        label: of nodes that can mount it; ``yes`` there.
    """

    volume: str
    options: dict[str, str]
    label: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A data set as a run's pods see it.

    Attributes:
        name: below ``/data``.
        path: on nodes: below the shared file system's mount point, or from the root where it begins with ``/``.
        write: whether the run is its one writer.
        flex: read-only by the node's driver in place of a path.
    """

    name: str
    path: str = ""
    write: bool = False
    flex: Flex | None = None


def inner(kind: FolderKind, name: str) -> str:
    """Return the path of the part of a folder that is its owner's, below the file system's root."""
    return f"{TOP[kind]}/{name}/{DATA}"


def gids(group: Group, groups: Iterable[Group]) -> list[int]:
    """Return the supplementary groups of a run's processes: the group charged, and all groups of its owner."""
    return sorted({group.gid, *(g.gid for g in groups)})


def home(mount: str, owner: User) -> dict[str, Any]:
    """Return the source of the volume of a user's home; without a shared file system it lasts as long as the pod."""
    if not mount:
        return {"emptyDir": {}}
    return {"hostPath": _folder(mount, inner(FolderKind.USER, owner.name))}


def volumes(mount: str, groups: Sequence[Group], data: Sequence[Bound]) -> list[dict[str, Any]]:
    """Return the volumes of groups' folders and data sets; ``mount`` is the shared file system's mount point on nodes."""
    if not mount:
        return []
    found = [
        {"name": f"group-{g.id}", "hostPath": _folder(mount, inner(FolderKind.GROUP, g.name))} for g in groups
    ]
    by_path = [
        {"name": f"data-{i}", "hostPath": _folder(mount, d.path)} for i, d in enumerate(data) if not d.flex
    ]
    # Two data sets may be of one folder of a server.
    driven = {d.flex.volume: _driven(d.flex) for d in data if d.flex}
    return [*found, *by_path, *driven.values()]


def mounts(mount: str, groups: Sequence[Group], data: Sequence[Bound]) -> list[dict[str, Any]]:
    """Return where a container sees them."""
    if not mount:
        return []
    found: list[dict[str, Any]] = [
        {"name": f"group-{g.id}", "mountPath": f"{GROUPS}/{g.name}"} for g in groups
    ]
    return found + [
        {
            "name": d.flex.volume if d.flex else f"data-{i}",
            "mountPath": f"{DATA_SETS}/{d.name}",
            "readOnly": not d.write,
        }
        for i, d in enumerate(data)
    ]


def nodes(mount: str, data: Sequence[Bound]) -> dict[str, str]:
    """Return the labels of nodes on which pods can have all that they mount."""
    if not mount:
        return {}
    return {NODE_LABEL: "mounted"} | {d.flex.label: "yes" for d in data if d.flex}


def _driven(flex: Flex) -> dict[str, Any]:
    return {
        "name": flex.volume,
        "flexVolume": {"driver": DRIVER, "readOnly": True, "options": flex.options},
    }


def _folder(mount: str, path: str) -> dict[str, str]:
    """Return a source that has to be there: kubelet refuses the pod where it is not, and makes nothing."""
    whole = path if path.startswith("/") else f"{mount.rstrip('/')}/{path}"
    return {"path": whole, "type": "Directory"}
