"""Makes and removes volumes for pods: folders in cephfs, block images, files on a node's own disk (see the kinds).

Several may run: whatever one does, another may have done already. The first of them acts at once, each further one
only on what has waited longer. Nothing that exists is ever formatted. Python 3.5 or later, with ceph's own libraries.
"""

import argparse
import json
import re
import threading
import time

from ...kubeapi import Api, ApiError
from .common import NotYet, VolumeError, bytes_of

MADE_BY = "pv.kubernetes.io/provisioned-by"
WANTED_OF = "volume.beta.kubernetes.io/storage-provisioner"
AFFINITY = "volume.alpha.kubernetes.io/node-affinity"
NAME = re.compile(r"pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
RESYNC_S = 60


class Provisioner:
    """Brings volumes to what claims ask for.

    Args:
        api: call(method, path, body).
        kinds: what makes volumes (common.Kind): provisioner (name), wait_s, retry_s, owns(volume), make(name, claim, size),
            remove(name, volume), where volumes can grow enlarge(name, claim).
        clock: seconds.
        log: callable(text).
    """

    def __init__(self, api, kinds, clock=time.monotonic, log=print):
        self.api, self.clock, self.log = api, clock, log
        self.kinds = {kind.provisioner: kind for kind in kinds}
        self.seen, self.reported = {}, {}

    def round(self):
        """Serve what is to be served; return after how many seconds to look again."""
        volumes = self.items(VOLUMES)
        made = {v["metadata"]["name"] for v in volumes}
        claims = {"pvc-" + claim["metadata"]["uid"]: claim for claim in self.items(CLAIMS)}
        work = {}
        for name, claim in claims.items():
            kind = self.kind(claim, WANTED_OF)
            if kind and self.is_waiting(claim) and name not in made:
                work[name] = (kind, self.provide, claim)
        for volume in volumes:
            kind, name = self.kind(volume, MADE_BY), volume["metadata"]["name"]
            try:
                if kind and self.is_left(volume) and kind.owns(volume):
                    work[name] = (kind, self.reclaim, volume)
                elif kind and name in claims and kind.owns(volume) and kind.growth(volume, claims[name]):
                    work[name] = (kind, self.grow, claims[name])
            except Exception as error:
                self.log("%s: %s: %s" % (name, type(error).__name__, error))
        now = self.clock()
        self.seen = {name: self.seen.get(name, now) for name in work}
        self.reported = {name: report for name, report in self.reported.items() if name in work}
        again = [RESYNC_S]
        for name in sorted(work):
            kind, action, about = work[name]
            wait = 0 if kind.at_once(about) else kind.wait_s
            if now - self.seen[name] < wait or not self.tried(name, kind, action, about) or wait:
                again.append(kind.retry_s)
        return min(again)

    def items(self, path):
        """Return all objects of a kind."""
        return self.api.call("GET", path).get("items") or []

    def kind(self, about, key):
        """Return what makes volumes of the name that an annotation gives; None for others' names."""
        return self.kinds.get((about["metadata"].get("annotations") or {}).get(key))

    @staticmethod
    def is_waiting(claim):
        """Tell whether a claim waits for a volume."""
        waiting = claim.get("status", {}).get("phase") == "Pending" and not claim["spec"].get("volumeName")
        return waiting and not claim["metadata"].get("deletionTimestamp")

    @staticmethod
    def is_left(volume):
        """Tell whether a volume has lost its claim and is to go with its data."""
        free = volume.get("status", {}).get("phase") == "Released"
        return free and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"

    def tried(self, name, kind, action, about):
        """Do one thing; tell a failure once, and return whether it was done."""
        try:
            action(kind, about)
        except NotYet as error:
            if self.reported.get(name) != str(error):
                self.reported[name] = str(error)
                self.log("%s: waits: %s" % (name, error))
            return False
        except (ApiError, VolumeError, OSError) as error:
            self.failed(name, kind, about, str(error))
            return False
        except Exception as error:
            # What one claim asks for must not keep the others waiting.
            self.failed(name, kind, about, "%s: %s" % (type(error).__name__, error))
            return False
        return True

    def failed(self, name, kind, about, text):
        """Tell a failure once."""
        if self.reported.get(name) != text:
            self.reported[name] = text
            self.log("%s: %s" % (name, text))
            self.event(kind, about, text)

    def provide(self, kind, claim):
        """Make what a claim asks for, then its volume."""
        meta, spec = claim["metadata"], claim["spec"]
        named = spec.get("storageClassName") or meta["annotations"].get(
            "volume.beta.kubernetes.io/storage-class"
        )
        classes = {
            c["metadata"]["name"]: c for c in self.items(CLASSES) if c["provisioner"] == kind.provisioner
        }
        if named not in classes:
            raise VolumeError("there is no storage class %r of %s" % (named, kind.provisioner))
        if spec.get("selector"):
            raise VolumeError("volumes of this class are made for their claim; a selector cannot be met")
        if spec.get("volumeMode", "Filesystem") != "Filesystem":
            raise VolumeError("volumes of this class are folders, not block devices")
        name = self.checked("pvc-" + meta["uid"], kind)
        wanted = spec["resources"]["requests"]["storage"]
        source, place = kind.make(name, claim, bytes_of(wanted))
        try:
            self.api.call("POST", VOLUMES, self.volume(name, claim, classes[named], source, place))
        except ApiError as error:
            if error.status != 409:
                raise
        self.log("%s: made, %s for %s/%s" % (name, wanted, meta["namespace"], meta["name"]))

    @staticmethod
    def volume(name, claim, klass, source, place):
        """Return the volume of a claim."""
        meta, spec = claim["metadata"], claim["spec"]
        nodes = {"nodeSelectorTerms": [{"matchExpressions": [place]}]}
        affinity = json.dumps({"requiredDuringSchedulingIgnoredDuringExecution": nodes})
        owner = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        owner.update({key: meta[key] for key in ("namespace", "name", "uid", "resourceVersion")})
        made = {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": klass.get("reclaimPolicy", "Delete"),
            "storageClassName": klass["metadata"]["name"],
            "claimRef": owner,
        }
        made.update(source)
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {MADE_BY: klass["provisioner"], AFFINITY: affinity}},
            "spec": made,
        }

    def grow(self, kind, claim):
        """Bring a volume to what its claim asks for now."""
        name = self.checked("pvc-" + claim["metadata"]["uid"], kind)
        kind.enlarge(name, claim)
        self.log("%s: has the size that its claim says" % name)

    def reclaim(self, kind, volume):
        """Remove what a volume holds, then the volume. Refused unless everything says that it is the volume's."""
        name = self.checked(volume["metadata"]["name"], kind)
        owner = (volume["spec"].get("claimRef") or {}).get("uid")
        if "pvc-%s" % owner != name:
            raise VolumeError("it was claimed by %r, not by whom it was made for: nothing is removed" % owner)
        kind.remove(name, volume)
        try:
            self.api.call("DELETE", "%s/%s" % (VOLUMES, name))
        except ApiError as error:
            if error.status != 404:
                raise
        self.log("%s: removed" % name)

    @staticmethod
    def checked(name, kind):
        """Return a volume's name; VolumeError for one that is not of our making."""
        if not NAME.fullmatch(name):
            raise VolumeError("%r is no name of a volume of %s" % (name, kind.provisioner))
        return name

    def event(self, kind, about, text):
        """Tell those who look at the object; a failure to tell changes nothing."""
        meta = about["metadata"]
        what = "PersistentVolumeClaim" if "namespace" in meta else "PersistentVolume"
        space, now = meta.get("namespace", "default"), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "metadata": {"generateName": "avadm-volumes-", "namespace": space},
            "involvedObject": {"kind": what, "name": meta["name"], "uid": meta["uid"], "apiVersion": "v1"},
            "type": "Warning",
            "reason": "ProvisioningFailed" if "namespace" in meta else "VolumeFailedDelete",
            "message": text[:1000],
            "source": {"component": kind.provisioner},
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        if "namespace" in meta:
            event["involvedObject"]["namespace"] = space
        try:
            self.api.call("POST", "/api/v1/namespaces/%s/events" % space, event)
        except ApiError as error:
            self.log("an event could not be reported: %s" % error)


def follow(api, path, concerns, changed):
    """Set `changed` whenever an object that concerns us changes, for ever."""
    while True:
        try:
            for change in api.watch(path):
                if concerns(change.get("object") or {}):
                    changed.set()
        except Exception as error:
            print("%s: %s" % (path, error), flush=True)
        changed.set()
        time.sleep(1)


def made_kinds(config, api):
    """Return what this program makes here, from its configuration."""
    kinds = []
    if "cephfs" in config:
        import cephfs

        from .folders import Cephfs

        kinds.append(Cephfs(dict(config["cephfs"], turn=config["turn"]), cephfs))
    if "rbd" in config:
        from .images import Rbd
        from .map import Images

        kinds.append(Rbd(config, Images(dict(config["rbd"], node=config["node"])), api))
    if "local" in config:
        from .local import Local

        kinds.append(Local(dict(config["local"], node=config["node"]), api))
        kinds[-1].tidy()
    return kinds


def main():
    """Run until stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "config", type=argparse.FileType(), help="JSON: server, authority, certificate, key, node, kinds"
    )
    config = json.load(parser.parse_args().config)
    api, changed = Api(config), threading.Event()
    one = Provisioner(api, made_kinds(config, api), log=lambda text: print(text, flush=True))
    for path, key in ((CLAIMS, WANTED_OF), (VOLUMES, MADE_BY)):

        def concerns(about, key=key):
            return "metadata" not in about or one.kind(about, key) is not None

        threading.Thread(target=follow, args=(api, path, concerns, changed), daemon=True).start()
    while True:
        changed.clear()
        try:
            pause = one.round()
        except Exception as error:
            print("%s: %s" % (type(error).__name__, error), flush=True)
            pause = min(kind.retry_s for kind in one.kinds.values())
        changed.wait(pause)
        # What is asked for together is served in one round.
        time.sleep(0.2)
