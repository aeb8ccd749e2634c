"""What the parts of a healthy site say of the object store, the cache and the logs, as plain data."""

from __future__ import annotations

from typing import Any

GIVEN = {
    "stor1": ("objects-gateway",),
    "stor2": ("objects-gateway",),
    "mast1": ("cache-master",),
    "mast2": ("cache-master",),
    "mast3": ("cache-master",),
    "comp1": ("cache-worker", "cache-client", "log-store"),
    "comp2": ("cache-worker", "cache-client", "log-store"),
}
"""Node to its roles of doctor/places.py; every node has log-shipper."""


def answer(status: int = 200, said: str = "", url: str = "https://10.0.0.11:7443/") -> dict[str, Any]:
    return {"url": url, "status": status, "seconds": 0.03, "said": said}


def figures(
    values: dict[str, dict[str, float]], age: float | None = 20.0, timer: float | None = 9e5
) -> dict[str, Any]:
    return {"values": values, "age_s": age, "timer_s": timer}


def usage(has: float = 50.0, age: float | None = 200.0, timer: float | None = 9e5) -> dict[str, Any]:
    counted = {"ai": has, "avadm-accept-quota": 16.0, "guest": 7e9}
    limits = {"ai": 100.0, "avadm-accept-quota": 16.0}
    values = {"avadm_objects_user_bytes": counted, "avadm_objects_user_quota_bytes": limits}
    return figures(values, age, timer)


def master(role: float | None = 2.0, workers: float = 0.0, **more: float) -> dict[str, Any]:
    """Return a master's page; 0 is the role of the one that leads."""
    values = {"Cluster_Workers": workers, **more}
    return {"said": "", "values": values if role is None else {**values, "Master_RoleId": role}}


def mount(
    kind: str = "fuse.alluxio-fuse", *, answers: bool = True, said: str = "", **more: Any
) -> dict[str, Any]:
    return {"point": "/mnt/alluxio", "kind": kind, "answers": answers, "said": said, "lacks": [], **more}


def shipper(active: str = "active", since: float | None = 7200.0, **more: Any) -> dict[str, Any]:
    """Return a node's shipper; its figures may be given as ``up``, ``waiting``, ``dropped``, ``age`` and ``timer``."""
    values = {
        "avadm_log_shipper_up": {"": more.get("up", 1.0)},
        "avadm_log_shipper_waiting": {"comp1": more.get("waiting", 3.0), "comp2": 0.0},
        "avadm_log_shipper_dropped_total": {"comp1": more.get("dropped", 0.0), "comp2": 0.0},
    }
    unit = {"active": active, "sub": "running" if since else "dead", "result": "success", "active_s": since}
    return {"unit": unit, "counts": figures(values, more.get("age", 20.0), more.get("timer", 9e5))}


def store(
    free: int = 50000, read_only: float = 0.0, age: float | None = 30.0, **health: Any
) -> dict[str, Any]:
    values = {"avadm_log_store_up": {"": 1.0}, "avadm_log_store_read_only": {"": read_only}}
    url = "https://10.0.0.31:9428/health"
    return {"health": answer(url=url, **health), "free_mib": free, "watch": figures(values, age)}


def data_parts(name: str) -> dict[str, Any]:
    """Return what a node says of these parts."""
    worker = {"Worker_CapacityTotal": 1e9, "Worker_CapacityUsed": 1e9}
    said = {
        "objects-gateway": {"objects": {"gateway": answer(), "address": answer(), "usage": usage()}},
        "cache-master": {"cache_master": master(0.0, 2.0) if name == "mast2" else master()},
        "cache-worker": {"cache_worker": {"said": "", "values": worker}},
        "cache-client": {"cache_mount": mount()},
        "log-store": {"log_store": store()},
    }
    found: dict[str, Any] = {"log_shipper": shipper()}
    for role in GIVEN.get(name, ()):
        found |= said[role]
    return found
