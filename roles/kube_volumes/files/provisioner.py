#!/usr/bin/python3
"""Makes and removes the volumes of the cephfs storage class: a folder with a quota for each claim.

It speaks to ceph itself (libcephfs) and uses no mount of its node, so that a mount that is gone can never make it
write to a local disk. A folder is emptied through a session whose root is that folder: no name and no link in it
leads elsewhere. Nothing is ever formatted.

Several may run: whatever one does, another may have done already. The first of them acts at once, each further one
only on what has waited longer. Python 3.5 or later, with ceph's own library.
"""

import argparse
import json
import re
import threading
import time

from volumes_api import Api, ApiError
from volumes_folders import Folders, VolumeError, bytes_of

PROVISIONER = "avadm.io/cephfs"
NODE_LABEL = "avadm.io/cephfs"
MADE_BY = "pv.kubernetes.io/provisioned-by"
WANTED_OF = "volume.beta.kubernetes.io/storage-provisioner"
AFFINITY = "volume.alpha.kubernetes.io/node-affinity"
NAME = re.compile(r"pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
TURN_S = 5
"""Seconds that each further provisioner leaves to those before it."""
RESYNC_S = 60
OPTIONS = {
    "server": "URL of Kubernetes' API",
    "authority": "file with the certificate of its authority",
    "certificate": "file with the client's certificate",
    "key": "file with the client's private key",
    "entity": "identity in ceph",
    "root": "folder of all volumes in the file system",
    "mount": "where nodes mount the file system",
    "turn": "0 acts at once, each further one 5 s later",
}


class Provisioner:
    """Brings volumes to what claims ask for.

    Args:
        api: call(method, path, body).
        folders: make(name, size), remove(name).
        config: mount, root, turn.
        clock: seconds.
        log: callable(text).
    """

    def __init__(self, api, folders, config, clock=time.monotonic, log=print):
        self.api, self.folders, self.config, self.clock, self.log = api, folders, config, clock, log
        self.path = config["mount"].rstrip("/") + config["root"]
        self.wait = config["turn"] * TURN_S
        self.seen, self.told = {}, {}

    def round(self):
        """Serve what is to be served; return after how many seconds to look again."""
        classes = {c["metadata"]["name"]: c for c in self.items(CLASSES) if c["provisioner"] == PROVISIONER}
        volumes = self.items(VOLUMES)
        made = {v["metadata"]["name"] for v in volumes}
        work = {}
        for claim in self.items(CLAIMS):
            name = "pvc-" + claim["metadata"]["uid"]
            if self.is_waiting(claim) and name not in made:
                work[name] = (self.provide, claim, classes)
        for volume in volumes:
            if self.is_left(volume):
                work[volume["metadata"]["name"]] = (self.reclaim, volume)
        now = self.clock()
        self.seen = {name: self.seen.get(name, now) for name in work}
        self.told = {name: told for name, told in self.told.items() if name in work}
        failed = False
        for name, (action, *given) in sorted(work.items()):
            if now - self.seen[name] >= self.wait:
                failed = not self.tried(name, action, given) or failed
        return TURN_S if failed or len(self.seen) and self.wait else RESYNC_S

    def items(self, path):
        """Return all objects of a kind."""
        return self.api.call("GET", path).get("items") or []

    @staticmethod
    def is_waiting(claim):
        """Tell whether a claim waits for a volume of ours."""
        meta, spec = claim["metadata"], claim["spec"]
        ours = (meta.get("annotations") or {}).get(WANTED_OF) == PROVISIONER
        waiting = claim.get("status", {}).get("phase") == "Pending" and not spec.get("volumeName")
        return ours and waiting and not meta.get("deletionTimestamp")

    @staticmethod
    def is_left(volume):
        """Tell whether a volume of ours has lost its claim and is to go with its data."""
        ours = (volume["metadata"].get("annotations") or {}).get(MADE_BY) == PROVISIONER
        free = volume.get("status", {}).get("phase") == "Released"
        return ours and free and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"

    def tried(self, name, action, given):
        """Do one thing; tell a failure once, and return whether it was done."""
        try:
            action(*given)
        except (ApiError, VolumeError, self.folders.library.Error) as error:
            if self.told.get(name) != str(error):
                self.told[name] = str(error)
                self.log("%s: %s" % (name, error))
                self.event(given[0], str(error))
            return False
        return True

    def provide(self, claim, classes):
        """Make a claim's folder, then its volume."""
        meta, spec = claim["metadata"], claim["spec"]
        kind = spec.get("storageClassName") or meta["annotations"].get(
            "volume.beta.kubernetes.io/storage-class"
        )
        if kind not in classes:
            raise VolumeError("there is no storage class %r of %s" % (kind, PROVISIONER))
        if spec.get("selector"):
            raise VolumeError("volumes of this class are made for their claim; a selector cannot be met")
        if spec.get("volumeMode", "Filesystem") != "Filesystem":
            raise VolumeError("volumes of this class are folders, not block devices")
        name = self.checked("pvc-" + meta["uid"])
        wanted = spec["resources"]["requests"]["storage"]
        self.folders.make(name, bytes_of(wanted))
        try:
            self.api.call("POST", VOLUMES, self.volume(name, claim, classes[kind], wanted))
        except ApiError as error:
            if error.status != 409:
                raise
        self.log("%s: made, %s for %s/%s" % (name, wanted, meta["namespace"], meta["name"]))

    def volume(self, name, claim, kind, size):
        """Return the volume of a claim.

        Its path must be a folder already (type Directory) and is one only where the file system is mounted; nodes
        that say it is have the label.
        """
        meta = claim["metadata"]
        term = {"key": NODE_LABEL, "operator": "In", "values": ["mounted"]}
        nodes = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
        affinity = json.dumps({"requiredDuringSchedulingIgnoredDuringExecution": nodes})
        owner = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        owner.update({key: meta[key] for key in ("namespace", "name", "uid", "resourceVersion")})
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {MADE_BY: PROVISIONER, AFFINITY: affinity}},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": claim["spec"]["accessModes"],
                "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy", "Delete"),
                "storageClassName": kind["metadata"]["name"],
                "claimRef": owner,
                "hostPath": {"path": "%s/%s" % (self.path, name), "type": "Directory"},
            },
        }

    def reclaim(self, volume):
        """Remove a volume's folder, then the volume. Refused unless everything says that the folder is the volume's."""
        name = self.checked(volume["metadata"]["name"])
        spec = volume["spec"]
        path = (spec.get("hostPath") or {}).get("path")
        if path != "%s/%s" % (self.path, name):
            raise VolumeError("its path is %r, not %s/%s: nothing is removed" % (path, self.path, name))
        owner = (spec.get("claimRef") or {}).get("uid")
        if "pvc-%s" % owner != name:
            raise VolumeError("it was claimed by %r, not by whom it was made for: nothing is removed" % owner)
        self.folders.remove(name)
        try:
            self.api.call("DELETE", "%s/%s" % (VOLUMES, name))
        except ApiError as error:
            if error.status != 404:
                raise
        self.log("%s: removed" % name)

    @staticmethod
    def checked(name):
        """Return a volume's name; VolumeError for one that is not of our making."""
        if not NAME.fullmatch(name):
            raise VolumeError("%r is no name of a volume of %s" % (name, PROVISIONER))
        return name

    def event(self, about, text):
        """Tell those who look at the object; a failure to tell changes nothing."""
        meta = about["metadata"]
        kind = "PersistentVolumeClaim" if "namespace" in meta else "PersistentVolume"
        space, now = meta.get("namespace", "default"), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "metadata": {"generateName": "avadm-volumes-", "namespace": space},
            "involvedObject": {"kind": kind, "name": meta["name"], "uid": meta["uid"], "apiVersion": "v1"},
            "type": "Warning",
            "reason": "ProvisioningFailed" if "namespace" in meta else "VolumeFailedDelete",
            "message": text[:1000],
            "source": {"component": PROVISIONER},
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        if "namespace" in meta:
            event["involvedObject"]["namespace"] = space
        try:
            self.api.call("POST", "/api/v1/namespaces/%s/events" % space, event)
        except ApiError as error:
            self.log("an event could not be told: %s" % error)


def follow(api, path, changed):
    """Set `changed` whenever an object of a kind changes, for ever."""
    while True:
        try:
            for _ in api.watch(path):
                changed.set()
        except ApiError as error:
            print(error, flush=True)
        changed.set()
        time.sleep(1)


def main():
    """Run until stopped."""
    import cephfs

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, about in OPTIONS.items():
        parser.add_argument("--" + name, required=True, type=int if name == "turn" else str, help=about)
    config = vars(parser.parse_args())
    api, changed = Api(config), threading.Event()
    one = Provisioner(api, Folders(config, cephfs), config, log=lambda text: print(text, flush=True))
    for path in (CLAIMS, VOLUMES):
        threading.Thread(target=follow, args=(api, path, changed), daemon=True).start()
    while True:
        changed.clear()
        try:
            pause = one.round()
        except ApiError as error:
            print(error, flush=True)
            pause = TURN_S
        changed.wait(pause)
        # What is asked for together is served in one round.
        time.sleep(0.2)


if __name__ == "__main__":
    main()
