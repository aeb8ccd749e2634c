"""Volumes of the storage class rbd: an image with ext4 for each claim, of one writer or of many readers."""

import json

from .common import MIB, NotYet, VolumeError, modes_of, must
from .format import WRITE_S, make_filesystem

DRIVER = "avadm/volume"
CLONE_OF = "avadm.io/clone-of"
NODE_LABEL = "avadm.io/rbd"
FEATURES = ("layering", "exclusive-lock")
"""What the kernel's client of 4.18 knows, and what volumes need."""
READERS = "ReadOnlyMany"


class Rbd:
    """Makes and removes images.

    An image is called `making-NAME` until it is finished, so whatever has the volume's name holds a whole file system.

    Args:
        config: turn.
        images: volumes_map.Images.
        api: to look for the claim that is cloned.
    """

    provisioner, retry_s = "avadm.io/rbd", 5

    def __init__(self, config, images, api):
        self.images, self.api, self.wait_s = images, api, config["turn"] * self.retry_s

    @staticmethod
    def owns(volume):
        """Tell whether a volume is this node's to remove."""
        return True

    def make(self, name, claim, size):
        """Make a claim's image; return (source of its volume, where pods may use it)."""
        source = (claim["metadata"].get("annotations") or {}).get(CLONE_OF)
        modes = modes_of(claim)
        if modes not in ({"ReadWriteOnce"}, {READERS}):
            raise VolumeError(
                "a volume of this class has one writer or many readers: ReadWriteOnce or ReadOnlyMany alone"
            )
        if modes == {READERS} and not source:
            raise VolumeError(
                "there is nothing to read: name the claim to be cloned in the annotation " + CLONE_OF
            )
        origin = self.origin(claim, source) if source else None
        with self.images.making(name):
            if not self.images.there(name):
                making = "making-" + name
                self.clear(making)
                if origin:
                    self.clone(origin, name, making, size)
                else:
                    self.fresh(making, size)
                self.images.rbd("rename", self.images.spec(making), self.images.spec(name))
        options = {"kind": "rbd", "image": name, "access": "ro" if modes == {READERS} else "rw"}
        return flex(options), {"key": NODE_LABEL, "operator": "In", "values": ["yes"]}

    def fresh(self, making, size):
        """Make an image with an empty file system."""
        features = [word for feature in FEATURES for word in ("--image-feature", feature)]
        size = "%dM" % -(-size // MIB)
        self.images.rbd(
            "create", "--image-format", "2", "--size", size, *(features + [self.images.spec(making)])
        )
        with self.images.opened(making) as path:
            make_filesystem(path, self.images.run)

    def origin(self, claim, source):
        """Return the volume of the claim that is cloned, of the same namespace."""
        space = claim["metadata"]["namespace"]
        found = self.api.call("GET", "/api/v1/namespaces/%s/persistentvolumeclaims/%s" % (space, source))
        volume = found["spec"].get("volumeName")
        if not volume or found.get("status", {}).get("phase") != "Bound":
            raise NotYet("claim %s, which is cloned, has no volume yet" % source)
        kept = self.api.call("GET", "/api/v1/persistentvolumes/" + volume)["spec"].get("flexVolume") or {}
        if kept.get("driver") != DRIVER or (kept.get("options") or {}).get("kind") != "rbd":
            raise VolumeError("claim %s is not of this class: it cannot be cloned" % source)
        return kept["options"]["image"]

    def clone(self, origin, name, making, size):
        """Make an image that starts as another is now, and is at least as large; shared until written."""
        rbd, spec = self.images.rbd, self.images.spec
        snap = "%s@%s" % (spec(origin), name)
        there = json.loads(rbd("info", "--format", "json", spec(origin)))["size"]
        if size < there:
            raise VolumeError("a clone is at least as large as what it is made of: %d MiB" % (there // MIB))
        if name not in self.snapshots(origin):
            rbd("snap", "create", snap)
            rbd("snap", "protect", snap)
        features = [word for feature in FEATURES for word in ("--image-feature", feature)]
        rbd("clone", *(features + [snap, spec(making)]))
        if size > there:
            rbd("resize", "--size", "%dM" % -(-size // MIB), spec(making))
        with self.images.opened(making) as path:
            # As after a loss of power: the journal is replayed, nothing else is mended (1: it was).
            rc, out, err = self.images.run(["e2fsck", "-p", "-f", path], WRITE_S)
            if rc not in (0, 1):
                raise VolumeError(
                    "the clone of %s has no sound file system: %s" % (origin, (out + err).strip()[-300:])
                )
            if size > there:
                must(["resize2fs", path], WRITE_S, self.images.run)

    def snapshots(self, image):
        """Return the names of an image's snapshots."""
        return [
            s["name"]
            for s in json.loads(self.images.rbd("snap", "ls", "--format", "json", self.images.spec(image)))
        ]

    def clear(self, making):
        """Remove an image whose making was cut off: no volume ever led to it."""
        if self.images.there(making):
            if self.images.watchers(making):
                raise NotYet("who was cut off making it has it open still")
            self.remove_image(making)

    def remove(self, name, volume):
        """Remove a volume's image. VolumeError while it is open, has clones, or snapshots of others."""
        given = volume["spec"].get("flexVolume") or {}
        options = given.get("options") or {}
        if (given.get("driver"), options.get("kind"), options.get("image")) != (DRIVER, "rbd", name):
            raise VolumeError("its source is not image %s: nothing is removed" % name)
        with self.images.making(name):
            if self.images.there(name):
                self.remove_image(name)

    def remove_image(self, image):
        """Remove an image, its snapshots that nobody needs, and the snapshot that it was cloned from."""
        rbd, spec = self.images.rbd, self.images.spec(image)
        there = self.images.watchers(image)
        if there:
            raise VolumeError("%s is still open at %s: it is not removed yet" % (spec, ", ".join(there)))
        for snap in self.snapshots(image):
            self.drop(image, snap)
        parent = json.loads(rbd("info", "--format", "json", spec)).get("parent")
        rbd("rm", "--no-progress", spec, seconds=3600)
        if parent:
            self.drop(parent["image"], parent["snapshot"])

    def drop(self, image, snap):
        """Remove a snapshot that was made for a clone which is gone."""
        spec = "%s@%s" % (self.images.spec(image), snap)
        if not snap.startswith("pvc-"):
            raise VolumeError("%s was made by somebody else: remove it, or keep the volume" % spec)
        clones = json.loads(self.images.rbd("children", "--format", "json", spec))
        if clones:
            names = ", ".join(c["image"] for c in clones)
            raise VolumeError("%s has a clone, and goes after it: %s" % (spec, names))
        info = json.loads(self.images.rbd("info", "--format", "json", spec))
        if str(info.get("protected")).lower() == "true":
            self.images.rbd("snap", "unprotect", spec)
        self.images.rbd("snap", "rm", "--no-progress", spec)


def flex(options):
    """Return the source of a volume that kubelet hands to our driver."""
    return {"flexVolume": {"driver": DRIVER, "fsType": "ext4", "options": options}}
