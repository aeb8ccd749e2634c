"""Block images as something that can be mounted, for one writer or for many readers. Nothing here formats anything.

A writer's image has exactly one client: who wants to open it for writing takes a lease on it (a rados lock that ends
by itself), sees that no client has it open (each keeps a watch on it, which ceph drops 30 s after the client died),
opens it, sees its own watch, and gives the lease back. A writer that was cut off and lives on is shut out by ceph: the
image has the feature exclusive-lock, and who takes that over from a client without a watch has it blacklisted first.
The feature alone is not enough: librbd's clients, rbd-fuse among them, hand the lock over whenever another asks.
"""

import json
import os
import re
import time
from contextlib import contextmanager

from .common import NotYet, VolumeError, must, run

RUN = "/run/avadm/volumes"
LEASE, LEASE_S = "avadm-open", 120
"""Name and life of the lease, seconds; opening an image takes one or two."""
BOOK, MAKE_S = "avadm-volumes", 1800
"""Object whose locks say which node makes or removes an image, and their life."""
SETTLE_S = 15


class Images:
    """The images of one pool, as this node sees them.

    Args:
        config: pool, entity, mapper (`krbd` or `rbd-fuse`), node.
        run: for tests.
    """

    def __init__(self, config, run=run):
        self.pool, self.user = config["pool"], config["entity"].partition(".")[2]
        self.mapper, self.node, self.run = config["mapper"], config["node"], run

    def rbd(self, *argv, **options):
        """Run `rbd`; return what it printed."""
        return must(["rbd", "--id", self.user] + list(argv), options.get("seconds", 60), self.run)

    def spec(self, image):
        """Return an image's whole name."""
        return "%s/%s" % (self.pool, image)

    def there(self, image):
        """Tell whether there is such an image."""
        return image in json.loads(self.rbd("ls", "--format", "json", self.pool))

    def watchers(self, image):
        """Return the addresses of the clients that have an image open."""
        found = json.loads(self.rbd("status", "--format", "json", self.spec(image)))["watchers"]
        # Up to 13.2 it is a mapping with numbers as names.
        return sorted(w["address"] for w in (found.values() if isinstance(found, dict) else found))

    @contextmanager
    def locked(self, thing, lock, seconds, busy):
        """Hold a lock of an object of the pool that ends by itself; raise `busy` while another has it."""
        import rados

        cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id=self.user)
        try:
            cluster.connect(timeout=30)
            with cluster.open_ioctx(self.pool) as io:
                cookie = "%s %d" % (self.node, os.getpid())
                try:
                    io.lock_exclusive(thing, lock, cookie, desc=self.node, duration=seconds)
                except (rados.ObjectBusy, rados.ObjectExists):
                    raise busy
                try:
                    yield
                finally:
                    try:
                        io.unlock(thing, lock, cookie)
                    except rados.ObjectNotFound:
                        pass  # it ran out, or the object is gone
        except rados.Error as error:
            raise VolumeError("ceph: %s" % error)
        finally:
            cluster.shutdown()

    def making(self, name):
        """Hold the right to make or remove a volume's image; NotYet while another node does."""
        return self.locked(BOOK, name, MAKE_S, NotYet("another node makes or removes it"))

    @contextmanager
    def opened(self, image):
        """Give the path of an image that no other client has open, mapped for writing until the end of the block."""
        path = self.claim(image)
        try:
            yield path
        finally:
            self.unmap(image)

    def claim(self, image):
        """Map an image for writing, as its only client; return its path. VolumeError where another has it open."""
        until = time.monotonic() + LEASE_S - 10
        busy = VolumeError("%s is being opened by another node just now" % self.spec(image))
        # A lock of an object that is not there would make it.
        self.rbd("info", self.spec(image))
        with self.locked("rbd_id." + image, LEASE, LEASE_S, busy):
            there = self.watchers(image)
            if there:
                raise VolumeError(
                    "%s has one writer at a time, and is open at %s; that ends with its pod there, or 30 s after that "
                    "node died" % (self.spec(image), ", ".join(there))
                )
            path = self.map(image)
            try:
                now = self.watchers(image)
                if len(now) != 1 or time.monotonic() > until:
                    raise VolumeError(
                        "%s was opened by others meanwhile: %s" % (self.spec(image), ", ".join(now))
                    )
            except VolumeError:
                self.unmap(image)
                raise
        return path

    def map(self, image, read_only=False):
        """Map an image, without looking who else has; return its path."""
        if self.mapper == "krbd":
            how = "--read-only" if read_only else "--exclusive"
            return self.rbd("map", how, self.spec(image)).strip()
        folder = self.folder(image)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # A unit of its own: it must outlive who asked for it, kubelet's service included.
        fuse = ["rbd-fuse", "-f", "--id", self.user, "-p", self.pool, "-r", image, folder]
        self.forget(image)
        must(["systemd-run", "--quiet", "--unit", self.unit(image)] + fuse, 60, self.run)
        path, end = os.path.join(folder, image), time.monotonic() + SETTLE_S
        # Not before it is mounted: the look at the file makes rbd-fuse open the image.
        while not (os.path.ismount(folder) and os.path.isfile(path)):
            if time.monotonic() > end:
                self.unmap(image)
                raise VolumeError(
                    "rbd-fuse does not show %s: journalctl -u %s" % (self.spec(image), self.unit(image))
                )
            time.sleep(0.1)
        return path

    def unmap(self, image):
        """Let go of an image that may be mapped; VolumeError while something still has it."""
        if self.mapper == "krbd":
            for device in self.devices(image):
                self.rbd("unmap", device)
            return
        folder, end = self.folder(image), time.monotonic() + SETTLE_S
        while is_mounted(folder):
            rc, _, err = self.run(["umount", folder], 30)
            if rc and time.monotonic() > end:
                raise VolumeError("%s is still in use here: %s" % (self.spec(image), err.strip()))
            if rc:
                time.sleep(0.2)  # the loop device goes a moment after what was mounted from it
        # It writes what is left and ends by itself.
        while self.run(["systemctl", "is-active", "--quiet", self.unit(image)], 10)[0] == 0:
            if time.monotonic() > end:
                must(["systemctl", "stop", self.unit(image)], 60, self.run)
            time.sleep(0.1)
        self.forget(image)
        if os.path.isdir(folder):
            os.rmdir(folder)

    def forget(self, image):
        """Have systemd forget a unit that died, which would refuse the next of its name (--collect is of systemd 236)."""
        self.run(["systemctl", "reset-failed", self.unit(image)], 10)

    def devices(self, image):
        """Return the kernel's devices of an image."""
        shown = json.loads(self.rbd("showmapped", "--format", "json") or "[]")
        listed = shown.values() if isinstance(shown, dict) else shown
        return [d["device"] for d in listed if (d["pool"], d["name"]) == (self.pool, image)]

    @staticmethod
    def folder(image):
        """Return where rbd-fuse shows an image."""
        return "%s/%s.image" % (RUN, image)

    @staticmethod
    def unit(image):
        """Return the name of an image's unit."""
        return "avadm-image-" + re.sub(r"[^A-Za-z0-9_.-]", "_", image)


def mounts():
    """Return (mount point, "MAJOR:MINOR") of all that is mounted, in order."""
    with open("/proc/self/mountinfo") as table:
        rows = [line.split(" ") for line in table]
    return [(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), row[4]), row[2]) for row in rows]


def is_mounted(path):
    """Tell whether something is mounted at a path, also where what is mounted there does not answer."""
    return any(point == path for point, _ in mounts())
