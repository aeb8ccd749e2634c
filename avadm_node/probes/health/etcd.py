"""What the doctor asks of etcd's members."""

from __future__ import absolute_import

import glob
import json
import os
import time

from .kubectl import moment
from .services import numbers
from .system import fetch, must, slurp

KEPT = ("etcd_server_has_leader", "etcd_mvcc_db_total_size_in_bytes", "etcd_server_quota_backend_bytes")
KEPT += ("etcd_debugging_mvcc_db_total_size_in_bytes", "etcd_disk_wal_fsync_duration_seconds_sum")
KEPT += ("etcd_disk_wal_fsync_duration_seconds_count", "etcd_server_leader_changes_seen_total")
KEPT += ("process_start_time_seconds",)


def etcd(_):
    """A member: its metrics twice, so that current events are distinguished from past ones; members, alarms, snapshots."""
    first = numbers(fetch("http://127.0.0.1:2381/metrics"), KEPT)
    time.sleep(3)
    then = numbers(fetch("http://127.0.0.1:2381/metrics"), KEPT)
    syncs = [k.replace("X", "etcd_disk_wal_fsync_duration_seconds") for k in ("X_sum", "X_count")]
    spent, count = [then.get(k, 0.0) - first.get(k, 0.0) for k in syncs]
    listed = json.loads(must(["avadm-etcd", "ctl", "member", "list", "-w", "json"]))["members"]
    alarms = must(["avadm-etcd", "ctl", "alarm", "list"]).split("\n")
    held = sorted(os.path.basename(p)[:-3] for p in glob.glob("/var/lib/etcd/snapshots/2*.db"))
    return {
        "metrics": then,
        "sync_s": round(spent / count, 3) if count else None,
        "syncs": count,
        "members": dict((m.get("name", ""), m.get("clientURLs", [])) for m in listed),
        "alarms": [line for line in alarms if line.strip()],
        "snapshots": [moment(name) for name in held[:1] + held[-1:]],
    }


def etcd_peers(_):
    """How many authorities this member of etcd trusts as members'; None where it has no such file."""
    text = slurp("/etc/etcd/pki/peer-ca.crt")
    return {"authorities": None if text is None else text.count("BEGIN CERTIFICATE")}
