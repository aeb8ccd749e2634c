"""Volumes of the storage class rbd: an image with ext4 for each claim, of one writer or of many readers."""

import json
import re

from .common import MIB, Kind, NotYet, VolumeError, modes_of, must
from .format import WRITE_S, make_filesystem

DRIVER = "avadm/volume"
CLONE_OF = "avadm.io/clone-of"
SNAPSHOT_OF = "avadm.io/clone-of-snapshot"
"""Annotation of a claim for readers: the snapshot that it is made of, IMAGE@SNAPSHOT of the same pool."""
SNAPSHOT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*@(?!pvc-)[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Both are plain names; snapshots pvc-… are made for clones, and go with them."""
KEPT = "avadm-protected-"
"""Metadata of an image, with a snapshot's name after it: it was protected for a clone, and no one wanted that before."""
NODE_LABEL = "avadm.io/rbd"
FEATURES = ("layering", "exclusive-lock")
"""What the kernel's client of 4.18 knows, and what volumes need."""
READERS = "ReadOnlyMany"


class Rbd(Kind):
    """Makes and removes images.

    An image is called `making-NAME` until it is finished, so whatever has the volume's name holds a whole file system.

    Args:
        config: turn; rbd.snapshots: the one namespace whose claims may name snapshots of others' images.
        images: volumes_map.Images.
        api: to look for the claim that is cloned.
    """

    provisioner, retry_s = "avadm.io/rbd", 5

    def __init__(self, config, images, api):
        self.images, self.api, self.wait_s = images, api, config["turn"] * self.retry_s
        self.trusted = (config.get("rbd") or {}).get("snapshots")

    @staticmethod
    def owns(volume):
        """Tell whether a volume is this node's to remove."""
        return True

    def make(self, name, claim, size):
        """Make a claim's image; return (source of its volume, where pods may use it)."""
        notes, modes = claim["metadata"].get("annotations") or {}, modes_of(claim)
        source, snap = notes.get(CLONE_OF), notes.get(SNAPSHOT_OF)
        if modes not in ({"ReadWriteOnce"}, {READERS}):
            raise VolumeError(
                "a volume of this class has one writer or many readers: ReadWriteOnce or ReadOnlyMany alone"
            )
        if snap is not None:
            self.see_that_it_may(claim, snap, modes, source)
        elif modes == {READERS} and not source:
            raise VolumeError(
                "there is nothing to read: name the claim to be cloned in the annotation " + CLONE_OF
            )
        origin = self.origin(claim, source) if source else None
        with self.images.making(name):
            if not self.images.there(name):
                making = "making-" + name
                self.clear(making)
                if snap is not None:
                    self.read_snapshot(snap, making)
                elif origin:
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

    def see_that_it_may(self, claim, snap, modes, source):
        """Raise VolumeError unless a claim may be made of a snapshot: anyone who reads one reads somebody else's image."""
        if not self.trusted or claim["metadata"]["namespace"] != self.trusted:
            raise VolumeError("claims of this namespace may not name snapshots (%s)" % SNAPSHOT_OF)
        if modes != {READERS} or source:
            raise VolumeError("a snapshot is read alone: ReadOnlyMany, and without " + CLONE_OF)
        if not SNAPSHOT.fullmatch(snap):
            raise VolumeError("%r names no snapshot: wanted IMAGE@SNAPSHOT" % snap)

    def read_snapshot(self, snap, making):
        """Make an image that shares all of a snapshot, which ceph keeps from being removed as long as that image is there."""
        image, taken = snap.split("@")
        spec = self.images.spec
        if not self.images.there(image):
            raise VolumeError("there is no image %s" % spec(image))
        if taken not in self.snapshots(image):
            raise VolumeError("the image %s has no snapshot %s" % (spec(image), taken))
        if not self.is_protected(spec(snap)):
            self.images.rbd("snap", "protect", spec(snap))
            self.images.rbd("image-meta", "set", spec(image), KEPT + taken, "yes")
        self.copy(spec(snap), making)
        # Where the snapshot is of an image in use its journal is replayed; a file system that says it is clean is believed.
        self.fix(making, snap, ["-p"])

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
        self.copy(snap, making)
        if size > there:
            rbd("resize", "--size", "%dM" % -(-size // MIB), spec(making))
        self.fix(making, origin, ["-p", "-f"], grow=size > there)

    def copy(self, snap, making):
        """Make an image of a protected snapshot, which stays protected as long as that is there."""
        how = [word for feature in FEATURES for word in ("--image-feature", feature)]
        # Of the second format, which pools without clients from before 13.2 get else, a snapshot may go before its clones.
        how += ["--rbd-default-clone-format", "1"]
        self.images.rbd("clone", *(how + [snap, self.images.spec(making)]))

    def fix(self, making, origin, how, grow=False):
        """Bring a clone's ext4 to where it can be read without being written; VolumeError for what has none."""
        with self.images.opened(making) as path:
            # As after a loss of power: the journal is replayed, nothing else is fixed (1: it was).
            rc, out, err = self.images.run(["e2fsck"] + how + [path], WRITE_S)
            if rc not in (0, 1):
                raise VolumeError(
                    "the clone of %s has no sound file system (ext4): %s"
                    % (origin, (out + err).strip()[-300:])
                )
            if grow:
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
        """Remove an image, its snapshots that no one needs, and the snapshot that it was cloned from."""
        rbd, spec = self.images.rbd, self.images.spec(image)
        there = self.images.watchers(image)
        if there:
            raise VolumeError("%s is still open at %s: it is not removed yet" % (spec, ", ".join(there)))
        for snap in self.snapshots(image):
            self.drop(image, snap)
        parent = json.loads(rbd("info", "--format", "json", spec)).get("parent")
        rbd("rm", "--no-progress", spec, seconds=3600)
        if parent and parent["snapshot"].startswith("pvc-"):
            self.drop(parent["image"], parent["snapshot"])
        elif parent:
            self.give_back(parent["image"], parent["snapshot"])

    def drop(self, image, snap):
        """Remove a snapshot that was made for a clone which is gone."""
        spec = "%s@%s" % (self.images.spec(image), snap)
        if not snap.startswith("pvc-"):
            raise VolumeError("%s was made by somebody else: remove it, or keep the volume" % spec)
        clones = json.loads(self.images.rbd("children", "--format", "json", spec))
        if clones:
            names = ", ".join(c["image"] for c in clones)
            raise VolumeError("%s has a clone, and goes after it: %s" % (spec, names))
        if self.is_protected(spec):
            self.images.rbd("snap", "unprotect", spec)
        self.images.rbd("snap", "rm", "--no-progress", spec)

    def is_protected(self, spec):
        """Tell whether a snapshot is protected."""
        info = json.loads(self.images.rbd("info", "--format", "json", spec))
        return str(info.get("protected")).lower() == "true"

    def give_back(self, image, snap):
        """Leave somebody else's snapshot as it was found, once nothing is made of it any more."""
        rbd, whole = self.images.rbd, self.images.spec(image)
        spec = "%s@%s" % (whole, snap)
        if json.loads(rbd("children", "--format", "json", spec)):
            return
        if KEPT + snap in json.loads(rbd("image-meta", "list", "--format", "json", whole) or "{}"):
            rbd("snap", "unprotect", spec)
            rbd("image-meta", "remove", whole, KEPT + snap)


def flex(options):
    """Return the source of a volume that kubelet hands to our driver."""
    return {"flexVolume": {"driver": DRIVER, "fsType": "ext4", "options": options}}
