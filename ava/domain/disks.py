"""A workbench's disk: a volume of a node's own disk, which is kept over all runs and goes with the workbench alone.

The first pod is placed where there is room; then its claim is made, which names that node, so that the node makes the volume.
Each later pod goes to the node that the claim names. What the claim's volume has by now that node tells (labels.VOLUMES).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ava.domain import labels
from ava.domain.compat import dataclass
from ava.domain.workbench import service

PATH = "/disk"
"""Where the workbench sees it."""
LEAST, MOST, STEP = 2**30, 2**46, 2**20
"""Bytes: the smallest and the largest, and what sizes are multiples of."""
CLASS = "local"
"""The storage class of volumes on a node's own disk."""
CHOSEN = "avadm.io/local-node"
"""Annotation of a claim: the node that makes its volume, and has it."""
SIZE = "avadm.io/size"
"""Annotation of a claim: what its volume is to grow to."""
DEFINITION = f"{labels.PREFIX}/definition"


@dataclass(frozen=True, slots=True)
class Disk:
    """What the database knows of a workbench's disk.

    Attributes:
        definition: the workbench's id.
        group: in whose quota it counts, and in whose namespace its claim is; the workbench's runs are charged to it.
        cluster: where it is.
        wanted: bytes that it is to have.
        size: bytes that it was last seen to have; 0: it is not made yet.
        promised: bytes that count in the quota: the most of what is wanted and of what its node may still be giving it.
        node: where it is; empty: nowhere yet.
        trouble: what keeps it from being as it should be, in a sentence.
        deleted: whether its workbench is deleted, so that it goes.
    """

    definition: str
    group: str
    cluster: str
    wanted: int
    size: int
    node: str
    trouble: str
    created: datetime
    deleted: bool = False
    promised: int = 0

    @property
    def claim(self) -> str:
        """Return the name of its claim."""
        return service(self.definition)

    @property
    def namespace(self) -> str:
        """Return where its claim is."""
        return labels.namespace(self.group)


def claim(disk: Disk, node: str) -> dict[str, Any]:
    """Return the claim of a disk that is to be made on a node."""
    marked = {labels.MANAGED: "true", labels.GROUP: disk.group, DEFINITION: disk.definition}
    return {
        "metadata": {
            "name": disk.claim,
            "labels": marked,
            "annotations": {CHOSEN: node, SIZE: quantity(disk.wanted)},
        },
        "spec": {
            "storageClassName": CLASS,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": quantity(disk.wanted)}},
        },
    }


def quantity(size: int) -> str:
    """Return bytes as Kubernetes writes them."""
    return f"{-(-size // STEP)}Mi"


def growth(disk: Disk, claim: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the change of a claim that has its volume brought to what is wanted; None where it says so already."""
    reply = (claim["metadata"].get("annotations") or {}).get(SIZE)
    wanted = quantity(disk.wanted)
    return None if reply == wanted else {"metadata": {"annotations": {SIZE: wanted}}}


def node_of(claim: Mapping[str, Any] | None) -> str:
    """Return the node that a claim names; empty without a claim."""
    return "" if claim is None else str((claim["metadata"].get("annotations") or {}).get(CHOSEN, ""))


@dataclass(frozen=True, slots=True)
class DiskReport:
    """What a node tells of its own disk, in bytes; a node that tells nothing has no room and no volumes."""

    free: int
    volumes: Mapping[str, int]


def disk_report(node: Mapping[str, Any] | None) -> DiskReport | None:
    """Return what a node tells of its disk; None for one that is not there or not well."""
    if node is None:
        return None
    conditions = (node.get("status") or {}).get("conditions") or ()
    if not any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return None
    try:
        reply = json.loads((node["metadata"].get("annotations") or {}).get(labels.VOLUMES, "{}"))
        volumes = {str(name): int(mib) * STEP for name, mib in (reply.get("volumes") or {}).items()}
        return DiskReport(int(reply.get("free", 0)) * STEP, volumes)
    except (ValueError, TypeError, AttributeError):
        return DiskReport(0, {})


def size_of(claim: Mapping[str, Any], there: DiskReport | None) -> int | None:
    """Return the bytes that a claim's volume has, 0 where it is not made; None while it is unknown."""
    return None if there is None else there.volumes.get(f"pvc-{claim['metadata']['uid']}", 0)


def hopeless(disk: Disk, claim: Mapping[str, Any], there: DiskReport | None) -> bool:
    """Return whether a claim that has no volume will get none from the node that it names, as far as can be determined."""
    bound = (claim.get("status") or {}).get("phase") == "Bound" or claim["spec"].get("volumeName")
    return not bound and not size_of(claim, there) and (there is None or there.free < disk.wanted)
