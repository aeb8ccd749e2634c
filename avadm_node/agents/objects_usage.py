#!/usr/bin/python3
# Written by avadm; python 2.7 and 3.
"""avadm-objects-usage ID FOLDER USER...: writes what each user of the object store has and may have, for node_exporter.

Asked with the gateway's own key, as client.ID. A user that cannot be asked is left out and named on standard error.
"""

from __future__ import print_function

import json
import os
import subprocess
import sys

NAME = "avadm-objects-usage.prom"
METRICS = (
    ("avadm_objects_user_bytes", "Bytes of all of a user's objects."),
    ("avadm_objects_user_objects", "Number of a user's objects."),
    ("avadm_objects_user_quota_bytes", "Bytes that a user may have; absent without a limit."),
    ("avadm_objects_user_quota_objects", "Number of objects that a user may have; absent without a limit."),
)


def ask(identity, *words):
    """Return what radosgw-admin answers."""
    argv = ["timeout", "60", "radosgw-admin", "--id", identity]
    argv += ["--keyring", "/var/lib/ceph/radosgw/ceph-%s/keyring" % identity]
    out = subprocess.check_output(argv + list(words))
    return json.loads(out.decode("utf-8"))


def figures(info, stats):
    """Return metric to value of one user.

    Args:
        info: what C(user info) says.
        stats: what C(user stats) says.
    """
    stats = stats.get("stats", stats)
    # Releases differ: size (from 14 on) or total_bytes, num_objects or total_entries.
    found = {
        "avadm_objects_user_bytes": stats.get("size", stats.get("total_bytes", 0)),
        "avadm_objects_user_objects": stats.get("num_objects", stats.get("total_entries", 0)),
    }
    quota = info["user_quota"]
    if quota["enabled"]:
        limits = (("bytes", quota["max_size"]), ("objects", quota["max_objects"]))
        found.update(("avadm_objects_user_quota_" + name, limit) for name, limit in limits if limit > 0)
    return found


def page(users):
    """Return the metrics' text of {user: {metric: value}}."""
    lines = []
    for name, about in METRICS:
        lines += ["# HELP %s %s" % (name, about), "# TYPE %s gauge" % name]
        lines += [
            '%s{user="%s"} %d' % (name, user, users[user][name])
            for user in sorted(users)
            if name in users[user]
        ]
    return "\n".join(lines) + "\n"


def main(identity, folder, names):
    """Write the file; return the exit status."""
    if not os.path.isdir(folder):
        print("%s: does not exist, so the metrics would not be read" % folder, file=sys.stderr)
        return 0
    users, bad = {}, 0
    for name in names:
        try:
            stats = ask(identity, "user", "stats", "--uid=" + name, "--sync-stats")
        except (subprocess.CalledProcessError, ValueError):
            # Somebody who has never had an object has no statistics.
            stats = {}
        try:
            users[name] = figures(ask(identity, "user", "info", "--uid=" + name), stats)
        except (subprocess.CalledProcessError, ValueError, KeyError) as error:
            print("%s: %s" % (name, type(error).__name__), file=sys.stderr)
            bad = 1
    path = os.path.join(folder, NAME)
    with open(path + ".new", "w") as out:
        out.write(page(users))
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
