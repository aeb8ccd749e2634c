"""What the doctor asks of cephfs: of the MDS, and where it is mounted."""

from __future__ import absolute_import

import time

from .ceph import admin, sockets
from .system import LONG_LINE, Failed, call, slurp


def mds(_):
    """MDS to its clients by host, operations in flight and how long the oldest has waited; those that serve no rank: none."""
    found = {}
    for name, path in sockets().items():
        if not name.startswith("mds."):
            continue
        state = admin(path, "status")
        row = {"state": state.get("state", "?"), "clients": {}, "operations": 0, "oldest_s": 0.0}
        if "active" in row["state"]:
            for session in admin(path, "session ls"):
                about = session.get("client_metadata", {})
                who = about.get("hostname") or session.get("inst", "?").rpartition(" ")[2].partition(":")[0]
                row["clients"][who] = row["clients"].get(who, 0) + 1
            flying = admin(path, "dump_ops_in_flight").get("ops", [])
            row["operations"] = len(flying)
            row["oldest_s"] = round(max([float(op.get("age", 0)) for op in flying] or [0.0]), 1)
        found[name] = row
    if not found:
        raise Failed("no MDS has a socket in /var/run/ceph")
    return found


def cephfs(params):
    """Whether ceph's file system is mounted where it should be, and how long it takes to answer."""
    rows = [line.split(" ") for line in (slurp("/proc/self/mounts") or "").split("\n") if line]
    kinds = [row[2] for row in rows if row[1].replace("\\040", " ") == params["mount"]]
    begun = time.time()
    # Another process asks: what waits for a dead file system cannot be killed.
    code, _, err = call(["stat", "--file-system", params["mount"]], 8)
    return {
        "kind": kinds[-1] if kinds else "",
        "answers": code == 0,
        "said": err.strip()[:LONG_LINE],
        "seconds": round(time.time() - begun, 2),
    }
