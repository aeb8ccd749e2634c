"""What the parts of a healthy site say of the object store, the cache, the logs and the platform, as plain data."""

GIVEN = {
    "stor1": ("objects-gateway", "osd-limited"),
    "stor2": ("objects-gateway", "osd-limited"),
    "stor3": ("osd-limited",),
    "mast1": ("cache-master", "cache-reader", "ava"),
    "mast2": ("cache-master", "ava"),
    "mast3": ("cache-master", "ava"),
    "comp1": (
        "cache-worker",
        "cache-reader",
        "cache-client",
        "log-store",
        "database",
        "backed-up",
        "ava-ledger",
    ),
    "comp2": ("cache-worker", "cache-client", "log-store", "database", "backed-up", "ava-ledger"),
}
"""Node to its roles of doctor/places.py; every node has log-shipper."""


def answer(status=200, said="", url="https://10.0.0.11:7443/"):
    return {"url": url, "status": status, "seconds": 0.03, "said": said}


def figures(values, age=20.0, timer=9e5):
    return {"values": values, "age_s": age, "timer_s": timer}


def usage(has=50.0, age=200.0, timer=9e5):
    counted = {"ai": has, "avadm-accept-quota": 16.0, "guest": 7e9}
    limits = {"ai": 100.0, "avadm-accept-quota": 16.0}
    values = {"avadm_objects_user_bytes": counted, "avadm_objects_user_quota_bytes": limits}
    return figures(values, age, timer)


def master(role=2.0, workers=0.0, **more):
    """Return a master's page; 0 is the role of the one that leads."""
    values = {"Cluster_Workers": workers, **more}
    return {"said": "", "values": values if role is None else {**values, "Master_RoleId": role}}


def mount(kind="fuse.alluxio-fuse", *, answers=True, said="", **more):
    return {"point": "/mnt/alluxio", "kind": kind, "answers": answers, "said": said, "lacks": [], **more}


def shipper(active="active", since=7200.0, **more):
    """Return a node's shipper; its figures may be given as ``up``, ``waiting``, ``dropped``, ``age`` and ``timer``."""
    values = {
        "avadm_log_shipper_up": {"": more.get("up", 1.0)},
        "avadm_log_shipper_waiting": {"comp1": more.get("waiting", 3.0), "comp2": 0.0},
        "avadm_log_shipper_dropped_total": {"comp1": more.get("dropped", 0.0), "comp2": 0.0},
    }
    unit = {"active": active, "sub": "running" if since else "dead", "result": "success", "active_s": since}
    return {"unit": unit, "counts": figures(values, more.get("age", 20.0), more.get("timer", 9e5))}


def store(free=50000, read_only=0.0, age=30.0, **health):
    values = {"avadm_log_store_up": {"": 1.0}, "avadm_log_store_read_only": {"": read_only}}
    url = "https://10.0.0.31:9428/health"
    return {"health": answer(url=url, **health), "free_mib": free, "watch": figures(values, age)}


def backed(role="primary", wrong=(), at=1_800_000_000.0, **values):
    """Return what a node reported last of PostgreSQL's backups; times in seconds ago: ``backup_timestamp_seconds=3600``."""
    ago = {"looked_timestamp_seconds": 100.0, "verified_timestamp_seconds": 86400.0}
    plain = {"verify_failed": 0.0}
    if role == "primary":
        ago |= {"backup_timestamp_seconds": 40000.0, "archive_timestamp_seconds": 50.0}
        plain |= {"backup_failed": 0.0, "backups": 9.0, "archive_failing": 0.0, "archive_waiting_bytes": 0.0}
        plain |= {"archive_dropped": 0.0, "repository_answers": 1.0}
    given = plain | ago | values
    report = {name: at - value if "timestamp" in name else value for name, value in given.items()}
    return {"values": report, "wrong": list(wrong)}


PARTS = "api", "gate", "jump", "operator", "scheduler"


def platform(way=200, said="", renewed=3, **pods):
    """Return what a master says of the platform; a process' pods may be given as ``api={"ready": 1}``."""
    leases = {"ava-operator": ["operator-1", 7], "ava-scheduler": ["scheduler-1", 9]}
    later = {name: [holder, count + renewed] for name, (holder, count) in leases.items()}
    usual = {"ready": 2, "nodes": ["comp1"], "restarts": 0}
    return {
        "deployed": dict.fromkeys(PARTS, 2),
        "pods": {part: {**usual, **pods.get(part, {})} for part in PARTS},
        "leases": [leases, later],
        "way": {"status": way, "said": said},
    }


def books(*, primary=True, said="", drift=(), **runs):
    """Return what a node of PostgreSQL says of the database."""
    report = primary and not said
    return {
        "said": said,
        "primary": primary,
        "drift": list(drift),
        "runs": {"r1": 2, **runs} if report else {},
    }


def data_parts(name):
    """Return what a node says of these parts."""
    worker = {"Worker_CapacityTotal": 1e9, "Worker_CapacityUsed": 1e9}
    report = {
        "objects-gateway": {"objects": {"gateway": answer(), "address": answer(), "usage": usage()}},
        "cache-master": {"cache_master": master(0.0, 2.0) if name == "mast2" else master()},
        "cache-worker": {"cache_worker": {"said": "", "values": worker}},
        "cache-client": {"cache_mount": mount()},
        "cache-reader": {"cache_hdfs": {"/hdfs": {"nn1.test:8020": "", "nn2.test:8020": ""}}},
        "log-store": {"log_store": store()},
        "backed-up": {"database_backup": backed("primary" if name == "comp1" else "standby")},
        "ava": {"ava": platform(), "ava_runs": {"runs": {"r1": 2}, "over": {}}},
        "ava-ledger": {"ava_ledger": books(primary=name == "comp1")},
    }
    found = {"log_shipper": shipper()}
    for role in GIVEN.get(name, ()):
        found |= report.get(role, {})
    return found
