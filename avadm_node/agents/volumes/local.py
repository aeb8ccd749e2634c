"""Volumes of the storage class local: a file with ext4 on a node's own disk, of a size that the node keeps for it."""

import os
import re
import shutil

from ...kubeapi import ApiError
from .common import MIB, Kind, NotYet, VolumeError, bytes_of, loops, modes_of, must, run
from .driver import Driver
from .fit import misfit
from .format import make_filesystem
from .images import DRIVER, flex

CHOSEN = "avadm.io/local-node"
SIZE = "avadm.io/size"
"""Annotation of a claim: what its volume is to grow to, while it is in use too. Kubernetes 1.9 lets no one change a claim's own
size."""
HOSTNAME = "kubernetes.io/hostname"
SPREAD_S = 4
"""A node acts this long after one with an empty disk would, if its own is full: so volumes spread."""
GROW_S = 900
MAKING = re.compile(r"making-pvc-[0-9a-f-]{36}\.img")


class Local(Kind):
    """Makes and removes volumes of this node alone; each node with room for them runs one.

    The first pod that uses a claim decides where its volume is made: on a node where it can run. All nodes judge by
    themselves; the first that notes its name in the claim makes the volume, and the API lets one be first.

    Args:
        config: node, local (folder), capacity (bytes), tells (whether this one of all nodes tells what cannot be met).
        api: call(method, path).
    """

    provisioner, retry_s = "avadm.io/local", 2

    def __init__(self, config, api, run=run, alone=Driver.alone):
        self.node, self.folder, self.capacity = config["node"], config["local"], config["capacity"]
        self.tells, self.api, self.run, self.alone = config["tells"], api, run, alone
        self.grown = {}

    @property
    def wait_s(self):
        """Return how long a claim must have waited: the fuller the disk, the longer."""
        return SPREAD_S * min(1.0, self.used() / self.capacity)

    def at_once(self, claim):
        """Tell whether a claim says that it is this node's already."""
        return (claim["metadata"].get("annotations") or {}).get(CHOSEN) == self.node

    def used(self):
        """Return what the node's volumes may hold together, bytes."""
        return sum(entry.stat().st_size for entry in os.scandir(self.folder) if entry.name.endswith(".img"))

    def owns(self, volume):
        """Tell whether a volume is on this node."""
        return self.options(volume).get("node") == self.node

    @staticmethod
    def options(volume):
        """Return what a volume tells the driver."""
        given = volume["spec"].get("flexVolume") or {}
        return (given.get("options") or {}) if given.get("driver") == DRIVER else {}

    def path(self, name):
        """Return the file of a volume."""
        return os.path.join(self.folder, name + ".img")

    def make(self, name, claim, size):
        """Make a claim's file, if the pod that waits for it can run here; return (source, where pods may use it)."""
        if modes_of(claim) != {"ReadWriteOnce"}:
            raise self.refusal("a volume of this class is on one node: ReadWriteOnce alone")
        size = -(-size // MIB) * MIB
        if not os.path.exists(self.path(name)):
            self.see_that_it_is_ours(claim, size)
            self.write(name, size)
        options = {"kind": "local", "image": name, "node": self.node, "access": "rw"}
        return flex(options), {"key": HOSTNAME, "operator": "In", "values": [self.node]}

    def refusal(self, text):
        """Return an error that is reported to people by the first few nodes alone, not by hundreds."""
        return VolumeError(text) if self.tells else NotYet(text)

    def see_that_it_is_ours(self, claim, size):
        """Raise NotYet unless this node is the one that is to make the volume: the first to say so in the claim."""
        chosen = (claim["metadata"].get("annotations") or {}).get(CHOSEN)
        if chosen not in (None, self.node):
            raise NotYet("%s makes it" % chosen)
        if not chosen:
            self.see_that_a_pod_fits(claim)
            self.see_room(size)
            meta = claim["metadata"]
            path = "/api/v1/namespaces/%s/persistentvolumeclaims/%s" % (meta["namespace"], meta["name"])
            change = {"resourceVersion": meta["resourceVersion"], "annotations": {CHOSEN: self.node}}
            try:
                self.api.call("PATCH", path, {"metadata": change})
            except ApiError as error:
                if error.status != 409:
                    raise
                raise NotYet("another node was faster")

    def see_room(self, size):
        """Raise unless the node's share has room for a volume."""
        left = self.capacity - self.used()
        if size > left:
            raise self.refusal(self.no_room(left, size))

    def no_room(self, left, size):
        """Return in words that there is no room."""
        return "%s has %d MiB left of %d MiB for local volumes, %d MiB are asked for" % (
            self.node,
            max(0, left) // MIB,
            self.capacity // MIB,
            size // MIB,
        )

    def see_that_a_pod_fits(self, claim):
        """Raise NotYet unless a pod waits for the claim and could run here."""
        meta = claim["metadata"]
        pods = self.api.call("GET", "/api/v1/namespaces/%s/pods" % meta["namespace"]).get("items") or []
        waiting = [p for p in pods if p["status"].get("phase") == "Pending" and uses(p, meta["name"])]
        if not waiting:
            raise NotYet("no pod uses the claim yet")
        node = self.api.call("GET", "/api/v1/nodes/" + self.node)
        mine = (
            self.api.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=" + self.node).get("items") or []
        )
        others = [p for p in mine if p["metadata"]["name"] != waiting[0]["metadata"]["name"]]
        reason = misfit(node, others, waiting[0])
        if reason:
            raise NotYet("%s: %s" % (self.node, reason))

    def write(self, name, size):
        """Make the file: its space is taken from the disk now, and nothing of it is in use before it has its name."""
        self.see_room(size)
        making = os.path.join(self.folder, "making-%s.img" % name)
        handle = os.open(making, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            try:
                os.posix_fallocate(handle, 0, size)
            except OSError as error:
                raise self.refusal("%s: %s: %s" % (self.node, self.folder, os.strerror(error.errno)))
            finally:
                os.close(handle)
            make_filesystem(making, self.run)
            os.rename(making, self.path(name))
        except BaseException:
            os.unlink(making)
            raise

    def growth(self, volume, claim):
        """Tell whether a claim says another size than its volume has been brought to."""
        asked = (claim["metadata"].get("annotations") or {}).get(SIZE)
        return asked is not None and asked != self.grown.get(volume["metadata"]["name"])

    def enlarge(self, name, claim):
        """Bring a volume to the size that its claim says, while pods use it; cut off anywhere, it is done again.

        Where it is not mounted, or the kernel does not let it grow then, the file alone grows; its file system does when it
        is mounted the next time (driver.py).
        """
        asked = claim["metadata"]["annotations"][SIZE]
        size, path = -(-bytes_of(asked) // MIB) * MIB, self.path(name)
        # No client mounts it or lets it go meanwhile.
        with self.alone(name):
            self.extend(path, size)
            self.grown[name] = asked
            try:
                for device in loops(path):
                    must(["losetup", "--set-capacity", device], GROW_S, self.run)
                    must(["resize2fs", device], GROW_S, self.run)
            except VolumeError as error:
                raise VolumeError("it has the size, its file system follows with its next mount: %s" % error)

    def extend(self, path, size):
        """Lengthen a file; its new space is taken from the disk now. VolumeError where there is none: it is as it was then."""
        now = os.path.getsize(path)
        if size < now:
            raise VolumeError(
                "it has %d MiB, %d MiB are asked for: a volume does not shrink" % (now // MIB, size // MIB)
            )
        if size == now:
            return
        left = self.capacity - self.used()
        if size - now > left:
            raise VolumeError(self.no_room(left, size - now))
        handle = os.open(path, os.O_RDWR)
        try:
            os.posix_fallocate(handle, now, size - now)
        except OSError as error:
            os.ftruncate(handle, now)
            raise VolumeError("%s: %s: %s" % (self.node, self.folder, os.strerror(error.errno)))
        finally:
            os.close(handle)

    def tidy(self):
        """Remove files whose making was cut off: only this program makes them, and nothing uses one of that name."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for entry in os.scandir(self.folder):
            if MAKING.fullmatch(entry.name):
                os.unlink(entry.path)
        if shutil.disk_usage(self.folder).total < self.capacity:
            raise VolumeError(
                "%s: the disk is smaller than the %d MiB of the site file"
                % (self.folder, self.capacity // MIB)
            )

    def remove(self, name, volume):
        """Remove a volume's file. VolumeError while it is mounted."""
        options = self.options(volume)
        if (options.get("kind"), options.get("image"), options.get("node")) != ("local", name, self.node):
            raise VolumeError("its source is not %s of %s: nothing is removed" % (name, self.node))
        if loops(self.path(name)):
            raise VolumeError("it is still mounted on %s: it is not removed yet" % self.node)
        if os.path.exists(self.path(name)):
            os.unlink(self.path(name))


def uses(pod, claim):
    """Tell whether a pod has a claim among its volumes."""
    volumes = pod["spec"].get("volumes") or []
    return any((v.get("persistentVolumeClaim") or {}).get("claimName") == claim for v in volumes)
