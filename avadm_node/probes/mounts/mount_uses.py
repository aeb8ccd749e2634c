# Runs on nodes: python 2.7 and 3.
"""Who uses a mounted file system: other mounts of it in any mount namespace, and processes with open files in it.

``umount`` alone does not say: it succeeds beside bind mounts, whose users would keep the old client.
"""

from __future__ import absolute_import, division, print_function

import io
import os

MOST = 20
"""Uses that are returned; more name no other cause."""


def table(text):
    """Return the mounts of a mountinfo file (proc(5)): device, mount point, whether an unmount elsewhere reaches it, type."""
    found = []
    for line in text.split("\n"):
        words = line.split(" ")
        if len(words) < 10 or "-" not in words:
            continue
        dash = words.index("-")
        follows = any(word.startswith(("master:", "shared:")) for word in words[6:dash])
        path = words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        found.append((words[2], path, follows, words[dash + 1]))
    return found


def uses(given, root=""):
    """Return what is mounted at a path and who uses it.

    Args:
        given: mapping with mount, the path.
        root: prefix of /proc, for tests.

    Returns:
        mapping with kind, the type of what is mounted there ("" for nothing), and users, one line for each use.
    """
    mount, proc = given["mount"].rstrip("/"), root + "/proc"
    own = [one for one in table(_text(proc + "/self/mountinfo")) if one[1] == mount]
    if not own:
        return {"kind": "", "users": []}
    device, kind = own[-1][0], own[-1][3]
    users, namespaces = [], set()
    for pid in sorted((p for p in os.listdir(proc) if p.isdigit()), key=int):
        name = _text("%s/%s/comm" % (proc, pid)).strip() or "?"
        space = _link("%s/%s/ns/mnt" % (proc, pid))
        if space and space not in namespaces:
            namespaces.add(space)
            for found, path, follows, _kind in table(_text("%s/%s/mountinfo" % (proc, pid))):
                if found == device and (path != mount or not follows):
                    users.append("%s is a mount of it, seen by process %s (%s)" % (path, pid, name))
        held = [_link("%s/%s/%s" % (proc, pid, one)) for one in ("cwd", "root")]
        try:
            held += [_link("%s/%s/fd/%s" % (proc, pid, one)) for one in os.listdir("%s/%s/fd" % (proc, pid))]
        except (IOError, OSError):
            pass  # it has ended meanwhile
        if any(one == mount or one.startswith(mount + "/") for one in held):
            users.append("process %s (%s)" % (pid, name))
    return {"kind": kind, "users": users[:MOST]}


def _text(path):
    try:
        with io.open(path, encoding="utf-8", errors="replace") as source:
            return source.read()
    except (IOError, OSError):
        return ""


def _link(path):
    try:
        return os.readlink(path)
    except (IOError, OSError):
        return ""
