"""Keeps pods' volumes off a node whose cephfs is not mounted.

usage: node.py MOUNT NODE KUBECONFIG [LABEL=VALUE ...]

The folder below the mount point is made immutable: while nothing is mounted there, nobody writes to the node's own
disk by mistake, not even the container engine, which makes folders that it is told to hand to a container. The node's
label says whether the file system is mounted and answers; volumes ask for that label. Further labels say what else this
node can mount. Python 3.5 or later.
"""

import os
import subprocess
import sys
import time

LABEL = "avadm.io/cephfs"
KINDS = ("ceph", "fuse.ceph", "fuse.ceph-fuse")
PERIOD_S = 5
REPEAT_S = 300
"""Seconds after which the label is set again though nothing changed: somebody may have taken it away."""
GUARD = """
set -eu
mkdir -p /run/avadm/below "$1"
mount --bind "$(dirname "$1")" /run/avadm/below
folder=/run/avadm/below/$(basename "$1")
chattr +i "$folder"
if [ -n "$(ls -A "$folder")" ]; then
  echo "$1: the node's own disk holds files below the mount point; see them with: mount --bind $(dirname "$1") /mnt"
fi
"""


def guard(mount):
    """Make the folder below the mount point immutable; the mounts that this needs are seen by nobody else."""
    subprocess.check_call(["unshare", "--mount", "sh", "-c", GUARD, "guard", mount])


def kind(mount, table):
    """Return the type of what is mounted at a path, from the text of mountinfo; None for nothing."""
    found = None
    for line in table.splitlines():
        words = line.split(" ")
        if words[4].replace("\\040", " ") == mount:
            found = words[words.index("-") + 1]
    return found


def mounted(mount):
    """Tell whether ceph's file system is mounted there and answers."""
    with open("/proc/self/mountinfo") as source:
        if kind(mount, source.read()) not in KINDS:
            return False
    asked = ["timeout", "-s", "KILL", "5", "stat", "--file-system", mount]
    return subprocess.call(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0


def label(node, kubeconfig, there, others=()):
    """Set or remove the node's label, and set the others; return whether the API took it."""
    words = [LABEL + ("=mounted" if there else "-")] + list(others)
    argv = [
        "kubectl",
        "--kubeconfig",
        kubeconfig,
        "--request-timeout=10s",
        "label",
        "--overwrite",
        "node",
        node,
    ] + words
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        print("the label could not be set: %s" % done.stdout.strip(), flush=True)
    return done.returncode == 0


def main():
    """Run until stopped."""
    mount, node, kubeconfig = sys.argv[1:4]
    mount = os.path.normpath(mount)
    guard(mount)
    told, at = None, 0.0
    while True:
        there = mounted(mount)
        if there != told:
            print("%s is %smounted" % (mount, "" if there else "not "), flush=True)
        if there != told or time.monotonic() - at > REPEAT_S:
            told, at = (
                (there, time.monotonic()) if label(node, kubeconfig, there, sys.argv[4:]) else (None, at)
            )
        time.sleep(PERIOD_S)
