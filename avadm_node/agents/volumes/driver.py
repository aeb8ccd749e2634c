"""Mounts block volumes for pods: kubelet's FlexVolume driver avadm/volume. Python 3.5 or later.

usage: volume init | mount FOLDER OPTIONS | unmount FOLDER

It mounts what the provisioner made, and cannot format anything: where no ext4 is found, or it is unknown what is
there, the mount is refused, and the pod's events say why (K1).
"""

import fcntl
import json
import os
import re
import sys
from contextlib import contextmanager

from . import nfs
from .common import VolumeError, loops, must, run
from .map import RUN, Images, is_mounted, mounts

CONFIG = "/etc/avadm/volumes/node.json"
NAME = re.compile(r"pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PROBE_S, MOUNT_S, FILL_S = 60, 300, 3600


class Driver:
    """What kubelet asks for.

    Args:
        config: node, and with rbd: pool, entity, mapper; with local volumes: local (folder); nfs: servers that are allowed.
        run: for tests.
    """

    def __init__(self, config, run=run):
        self.config, self.run = config, run

    def init(self):
        """Answer kubelet's first question: there is nothing to attach beforehand."""
        return {"capabilities": {"attach": False}}

    def mount(self, folder, options):
        """Show a volume at a pod's folder."""
        options = json.loads(options)
        if options.get("kind") == "nfs":
            return self.nfs().mount(folder, options)
        name, access = options.get("image", ""), options.get("access")
        if not NAME.fullmatch(name) or access not in ("rw", "ro"):
            raise VolumeError("%r (%r) is no volume of our making" % (name, access))
        with self.alone(name):
            if not is_mounted(folder):
                shared = self.whole(name, options.get("kind"), access)
                os.makedirs(folder, exist_ok=True)
                must(["mount", "--bind", shared, folder], MOUNT_S, self.run)
                if access == "ro" or options.get("kubernetes.io/readwrite") == "ro":
                    must(["mount", "-o", "remount,bind,ro,nosuid,nodev", folder], MOUNT_S, self.run)
        return {}

    def nfs(self):
        """Return what mounts folders of NFS servers."""
        return nfs.Nfs(self.config.get("nfs") or (), self.alone, self.run)

    def whole(self, name, kind, access):
        """Mount a volume once for all pods of this node; return where."""
        point = self.point(name)
        if is_mounted(point):
            return point
        path = self.source(name, kind, access)
        try:
            see_ext4(path, self.run)
            os.makedirs(point, mode=0o700, exist_ok=True)
            # A reader's mount writes nothing, not even the journal that a crash may have left.
            # An image reads as zeros where nothing was written, tables too: the kernel's clearing of them would only punch
            # holes into a file whose space is reserved.
            # What is in a reader's image others may have written: nothing in it gives rights.
            flags = ["rw", "noinit_itable"] if access == "rw" else ["ro", "noload", "nosuid", "nodev"]
            if os.path.isfile(path):
                flags.append("loop")
            mount = ["mount", "-t", "ext4", "-o", ",".join(flags), path, point]
            must(mount, MOUNT_S, self.run)
            if kind == "local":
                self.fill(path, point, mount)
        except VolumeError:
            self.let_go(name)
            raise
        return point

    def fill(self, path, point, mount):
        """Have a file system be as large as its file, which may have grown while no one used it.

        The kernel does that to one that is mounted, and a crash does it no harm; where it may not (resize2fs wants
        CAP_SYS_RESOURCE then) it is done before the mount. One that cannot grow stays as it is.
        """
        if all(self.run(["resize2fs", device], MOUNT_S)[0] == 0 for device in loops(path)):
            return
        must(["umount", point], MOUNT_S, self.run)
        if self.run(["e2fsck", "-f", "-p", path], FILL_S)[0] in (0, 1):  # 1: something was put right
            self.run(["resize2fs", path], FILL_S)
        must(mount, MOUNT_S, self.run)

    def source(self, name, kind, access):
        """Return the device or file of a volume, mapped."""
        if kind == "local" and self.config.get("local"):
            path = os.path.join(self.config["local"], name + ".img")
            if not os.path.isfile(path):
                raise VolumeError("%s is not on %s" % (path, self.config["node"]))
            return path
        if kind == "rbd" and self.config.get("pool"):
            images = Images(self.config, self.run)
            if os.path.isdir(images.folder(name)):
                images.unmap(name)  # what an earlier try has left
            return images.claim(name) if access == "rw" else images.map(name, read_only=True)
        raise VolumeError("%s has no volumes of the kind %r" % (self.config["node"], kind))

    def unmount(self, folder):
        """Take a volume from a pod's folder, and from the node with its last pod."""
        name = os.path.basename(os.path.normpath(folder))
        if nfs.NAME.fullmatch(name):
            return self.nfs().unmount(folder)
        if not NAME.fullmatch(name):
            raise VolumeError("%r is no volume of our making" % name)
        with self.alone(name):
            if is_mounted(folder):
                must(["umount", folder], MOUNT_S, self.run)
            point = self.point(name)
            number = dict(mounts()).get(point)
            others = [p for p, n in mounts() if n == number and p != point]
            if not others:
                if number:
                    must(["umount", point], MOUNT_S, self.run)
                self.let_go(name)
                if os.path.isdir(point):
                    os.rmdir(point)
        return {}

    def let_go(self, name):
        """Unmap what may be mapped."""
        if self.config.get("pool"):
            images = Images(self.config, self.run)
            if images.mapper == "krbd" or os.path.isdir(images.folder(name)):
                images.unmap(name)

    @staticmethod
    def point(name):
        """Return where a node mounts a volume for all its pods."""
        return "%s/%s" % (RUN, name)

    @staticmethod
    @contextmanager
    def alone(name):
        """Let one call at a time see to a volume."""
        os.makedirs(RUN, mode=0o700, exist_ok=True)
        with open("%s/%s.lock" % (RUN, name), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def see_ext4(path, run=run):
    """Raise VolumeError unless a probe that worked found ext4 and nothing else."""
    rc, out, err = run(["blkid", "-p", "-o", "export", path], PROBE_S)
    report = dict(line.partition("=")[::2] for line in out.split("\n"))
    if rc or report.get("TYPE") != "ext4":
        found = (
            report.get("TYPE") or report.get("PTTYPE") or err.strip() or "nothing (blkid's status %d)" % rc
        )
        raise VolumeError(
            "%s is not mounted, and nothing was written: wanted ext4, blkid finds: %s" % (path, found)
        )


def main():
    """Answer one call."""
    try:
        with open(CONFIG) as source:
            driver = Driver(json.load(source))
        actions = {"init": driver.init, "mount": driver.mount, "unmount": driver.unmount}
        if sys.argv[1] not in actions:
            print(json.dumps({"status": "Not supported"}))
            return 1
        answer = {"status": "Success"}
        answer.update(actions[sys.argv[1]](*sys.argv[2:]))
    except (VolumeError, OSError, ValueError) as error:
        print(json.dumps({"status": "Failure", "message": str(error)}))
        return 1
    print(json.dumps(answer))
    return 0
