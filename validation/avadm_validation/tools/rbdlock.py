#!/usr/bin/env python
"""Hold, or try to get, an rbd image's exclusive lock; print JSON.

Runs on nodes: Python 2.7 and 3 with ceph's own bindings. ``hold`` opens the image read-write, takes the lock in
exclusive mode (never handed over while this process lives), writes a mark, waits until a file appears or the time is
up, checks that its mark is still there, and lets go. ``try`` does what a second writer does: asks for the lock, and
writes without asking.

Output of hold: {"tool": "rbdlock", "role": "hold", "lock": "got" | ERROR, "mark": "kept" | "overwritten" | null}; of
try: {"role": "try", "lock": "got" | ERROR, "write": "done" | ERROR | "blocked", "features": ["exclusive-lock", ...]}.
"""

from __future__ import print_function

import argparse
import errno
import json
import os
import sys
import threading
import time

import rados
import rbd

MARK = b"avadm-accept: the first writer's mark".ljust(512, b".")


def name_of(error):
    if isinstance(error, rbd.ReadOnlyImage):
        return "EROFS"
    return errno.errorcode.get(abs(getattr(error, "errno", 0) or 0), type(error).__name__)


def attempt(act, good):
    try:
        act()
        return good
    except rbd.Error as e:
        return name_of(e)


def limited(act, good, seconds):
    """Run in a thread: a writer that waits for ever is "blocked", which is a refusal too."""
    result = []
    thread = threading.Thread(target=lambda: result.append(attempt(act, good)))
    thread.daemon = True
    thread.start()
    thread.join(seconds)
    return result[0] if result else "blocked"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("role", choices=["hold", "try"])
    p.add_argument("--user", default="admin")
    p.add_argument("--pool", required=True)
    p.add_argument("--image", required=True)
    p.add_argument("--held", default="", help="hold: file to write when the lock is had")
    p.add_argument("--until", default="", help="hold: file whose appearance ends the wait")
    p.add_argument(
        "--seconds", type=float, default=20.0, help="hold: longest wait; try: longest for one attempt"
    )
    args = p.parse_args()
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id=args.user)
    cluster.conf_set("rbd_cache", "false")  # what is measured is the cluster, not this client's memory
    cluster.connect()
    io = cluster.open_ioctx(args.pool)
    image = rbd.Image(io, args.image)
    out = {"tool": "rbdlock", "role": args.role}
    if args.role == "hold":
        out["lock"] = attempt(lambda: image.lock_acquire(rbd.RBD_LOCK_MODE_EXCLUSIVE), "got")
        out["mark"] = None
        image.write(MARK, 0)
        if args.held:
            with open(args.held, "w") as f:
                f.write(out["lock"])
        end = time.time() + args.seconds
        while time.time() < end and not (args.until and os.path.exists(args.until)):
            time.sleep(0.05)
        out["mark"] = "kept" if image.read(0, len(MARK)) == MARK else "overwritten"
        if out["lock"] == "got":
            image.lock_release()
    else:
        out["features"] = ["exclusive-lock"] if image.features() & rbd.RBD_FEATURE_EXCLUSIVE_LOCK else []
        out["lock"] = limited(lambda: image.lock_acquire(rbd.RBD_LOCK_MODE_EXCLUSIVE), "got", args.seconds)
        out["write"] = limited(lambda: image.write(b"2" * 512, 0), "done", args.seconds)
    print(json.dumps(out))
    sys.stdout.flush()
    if "blocked" in (out.get("lock"), out.get("write")):
        os._exit(0)  # a blocked request would keep close() waiting
    image.close()
    io.close()
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
