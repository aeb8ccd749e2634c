"""Keeps pods' volumes off a node whose cephfs is not mounted.

The folder below the mount point is made immutable: while nothing is mounted there, no one writes to the node's own
disk by mistake, not even the container engine, which makes folders that it is to mount into a container. The node's
label says whether the file system is mounted and answers; volumes ask for that label. Further labels say what else this
node can mount, and an annotation what room it has for local volumes and how large those are that it has. Python 3.5 or later.
"""

import argparse
import json
import os
import re
import subprocess
import threading
import time

from .driver import Driver
from .nfs import Nfs, Watch

LABEL = "avadm.io/cephfs"
LOCAL = "avadm.io/local-volumes"
"""Annotation: {"free": MiB for further local volumes, "volumes": {NAME: MiB}}."""
VOLUME = re.compile(r"(pvc-[0-9a-f-]{36})\.img")
MIB, GIB_MIB = 1 << 20, 1024
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
    """Make the folder below the mount point immutable; the mounts that this needs are seen by no one else."""
    subprocess.check_call(["unshare", "--mount", "sh", "-c", GUARD, "guard", mount])


def kind(mount, table):
    """Return the type of what is mounted at a path, from the text of mountinfo; None for nothing."""
    found = None
    for line in filter(None, table.split("\n")):
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
    return note("label", node, kubeconfig, [LABEL + ("=mounted" if there else "-")] + list(others))


def note(verb, node, kubeconfig, words):
    """Have kubectl label or annotate the node; return whether the API took it."""
    argv = ["kubectl", "--kubeconfig", kubeconfig, "--request-timeout=10s", verb, "--overwrite", "node", node]
    done = subprocess.run(
        argv + list(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
    )
    if done.returncode:
        print("kubectl %s: %s" % (verb, done.stdout.strip()), flush=True)
    return done.returncode == 0


def local_volumes(folder, capacity):
    """Return what the annotation says of the local volumes below a folder that may have so many bytes together."""
    found, used = {}, 0
    try:
        for entry in os.scandir(folder):
            if entry.name.endswith(".img"):
                size = entry.stat().st_size
                used += size
                name = VOLUME.fullmatch(entry.name)
                if name:
                    found[name.group(1)] = size // MIB
        disk = os.statvfs(folder)
    except OSError as error:
        print("%s: %s" % (folder, os.strerror(error.errno)), flush=True)
        return json.dumps({"free": 0, "volumes": {}})
    free, there = max(0, capacity - used) // MIB, disk.f_bavail * disk.f_frsize // MIB
    # What others write on that disk changes all the time: it is reported in whole GiB.
    free = free if free <= there else there // GIB_MIB * GIB_MIB
    return json.dumps({"free": free, "volumes": found}, sort_keys=True)


class ChangeReporter:
    """What the node has reported, so that it is reported again when it changes, and from time to time."""

    def __init__(self, tell, clock=time.monotonic):
        self.tell, self.clock = tell, clock
        self.last, self.at = None, 0.0

    def see(self, now):
        """Tell what is so now, unless that is known; what could not be reported is reported at the next look."""
        if now != self.last or self.clock() - self.at > REPEAT_S:
            self.last, self.at = (now, self.clock()) if self.tell(now) else (None, self.at)


def main():
    """Run until stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("mount", "node", "kubeconfig"):
        parser.add_argument(name)
    parser.add_argument("labels", nargs="*", metavar="LABEL=VALUE")
    parser.add_argument("--local", metavar="FOLDER", help="where local volumes are")
    parser.add_argument(
        "--nfs", action="store_true", help="see that no NFS server that is silent holds kubelet up"
    )
    parser.add_argument("--capacity", type=int, default=0, help="what they may have together, bytes")
    args = parser.parse_args()
    mount = os.path.normpath(args.mount)
    guard(mount)

    def tell_mount(there):
        print("%s is %smounted" % (mount, "" if there else "not "), flush=True)
        return label(args.node, args.kubeconfig, there, args.labels)

    def tell_local(value):
        return note("annotate", args.node, args.kubeconfig, ["%s=%s" % (LOCAL, value)])

    if args.nfs:
        watch = Watch(Nfs((), Driver.alone), log=lambda text: print(text, flush=True))
        threading.Thread(target=watch.always, daemon=True).start()
    cephfs, local = ChangeReporter(tell_mount), ChangeReporter(tell_local)
    while True:
        look(lambda: cephfs.see(mounted(mount)))
        if args.local:
            look(lambda: local.see(local_volumes(args.local, args.capacity)))
        time.sleep(PERIOD_S)


def look(step):
    """Look once at one thing; what goes wrong is printed, and the others are looked at."""
    try:
        step()
    except Exception as error:
        print("%s: %s" % (type(error).__name__, error), flush=True)
