"""The names by which AVA's objects in Kubernetes are found again; operator and scheduler agree on nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

PREFIX = "ava.io"
MANAGED = f"{PREFIX}/managed"
"""Label ``true`` on all that the operator made; nothing else is ever deleted."""
RUN = f"{PREFIX}/run"
ROLE = f"{PREFIX}/role"
INDEX = f"{PREFIX}/index"
ATTEMPT = f"{PREFIX}/attempt"
OWNER = f"{PREFIX}/owner"
GROUP = f"{PREFIX}/group"
SERVES = f"{PREFIX}/serves"
"""Label ``true`` on a service's replica that is sent requests; taken off before it is removed."""
DRAINED = f"{PREFIX}/drained-at"
"""Annotation: when a replica was taken out of service, ISO 8601 in UTC."""
GANG = f"{PREFIX}/gang"
"""Annotation: how many pods are placed together; all of the run's attempt or none."""
QUEUE_PRIORITY = f"{PREFIX}/queue-priority"
"""Annotation: the priority of the run's queue when the pod was made; it comes before PRIORITY."""
PRIORITY = f"{PREFIX}/priority"
"""Annotation: the run's, higher first; with CREATED it orders what waits to be placed."""
CREATED = f"{PREFIX}/created"
"""Annotation: the run's creation, ISO 8601 in UTC."""
POOL = f"{PREFIX}/pool"
"""Annotation: the pool whose nodes it may go to."""
NODE = f"{PREFIX}/node"
"""Annotation: the node that the user named (A-SC7)."""
MODEL = f"{PREFIX}/gpu-model"
"""Annotation of a pod: the GPU model that the user named (N2). Label of a node: the model of its GPUs."""
DISK = f"{PREFIX}/disk"
"""Annotation: bytes of a node's own disk that are taken for the pod where it comes; none for a disk that is there."""
DISK_NODE = f"{PREFIX}/disk-node"
"""Annotation: the node where the pod's disk is; it goes nowhere else."""
VOLUMES = "avadm.io/local-volumes"
"""Annotation of a node, written by it: {"free": MiB, "volumes": {NAME: MiB}} of what it has of its own disk for volumes."""
SLOTS = f"{PREFIX}/gpu-slots"
"""Label of a node: how many pods may share each of its cards; without it its cards are whole."""
REASON = f"{PREFIX}/waits-for"
"""Annotation written by the scheduler: JSON list of reasons, one per cause with the number of nodes."""
SCHEDULER = "ava"
GPU = "nvidia.com/gpu"
LIMIT = 63
"""Bytes of a label's value or of a name that DNS carries."""


def short(*parts: str, limit: int = LIMIT) -> str:
    """Return a DNS label of at most ``limit`` bytes; what is too long or not plain is cut and distinguished by a digest."""
    whole = "-".join(parts)
    plain = "".join(c if c.isascii() and (c.islower() or c.isdigit()) else "-" for c in whole).strip("-")
    if plain == whole and len(whole) <= limit:
        return whole
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]
    return f"{plain[: limit - 11].strip('-')}-{digest}" if plain else digest


def pod(run: str, attempt: int, role: str, index: int) -> str:
    """Return a pod's name; the run's id is 13 characters at most, so nothing has to be cut."""
    return f"{run}-{attempt}-{role}-{index}"


def namespace(group: str) -> str:
    """Return the namespace of a group's pods."""
    return short("ava", group)


_namespace = lru_cache(maxsize=4096)(namespace)


def ours(thing: Mapping[str, Any]) -> bool:
    """Return whether AVA made an object: it has the label, and is in (or is) the namespace of the group that it names.

    Labels alone prove nothing: accounts of Kubernetes write what they like in their own namespaces.
    """
    meta = thing["metadata"]
    marks = meta.get("labels") or {}
    group = marks.get(GROUP) or ""
    where = meta.get("namespace") or meta.get("name")
    return marks.get(MANAGED) == "true" and group != "" and where == _namespace(group)
