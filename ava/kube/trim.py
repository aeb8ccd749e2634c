"""What a mirror leaves out of objects: what their makers wrote at length and no reader of a mirror looks at."""

from __future__ import annotations

from typing import Any

from ava.kube.client import Object

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTENT = frozenset({"data", "binaryData", "stringData"})
"""Of config maps and secrets."""
_CONTAINER = frozenset(
    {"env", "envFrom", "command", "args", "volumeMounts", "livenessProbe", "readinessProbe", "lifecycle"}
)


def trim(thing: Object) -> Object:
    """Return an object without contents, managed fields, and of containers without variables, commands and mounts."""
    found = {name: value for name, value in thing.items() if name not in _CONTENT}
    meta: dict[str, Any] = {n: v for n, v in thing["metadata"].items() if n != "managedFields"}
    if APPLIED in (meta.get("annotations") or {}):
        meta["annotations"] = {n: v for n, v in meta["annotations"].items() if n != APPLIED}
    found["metadata"] = meta
    spec = thing.get("spec")
    if isinstance(spec, dict) and "containers" in spec:
        kept = {name: _containers(spec[name]) for name in ("containers", "initContainers") if name in spec}
        found["spec"] = spec | kept
    return found


def _containers(some: Any) -> list[Object]:
    return [{n: v for n, v in one.items() if n not in _CONTAINER} for one in some or ()]
