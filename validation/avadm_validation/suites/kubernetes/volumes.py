"""Volumes of every storage class at once: a claim, a pod that writes, another that reads, and everything gone again.

The classes are driven together, because most of the time is waiting for pods. What kubectl and the pods printed is kept as
texts by name; each class' check judges its own part of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from avadm_validation.measuring.targets import KubeTarget
from avadm_validation.suites.kubernetes import objects as o
from avadm_validation.suites.kubernetes.cluster import Cluster

MODES = {"cephfs": "ReadWriteMany", "rbd": "ReadWriteOnce", "local": "ReadWriteOnce"}
APART = ("cephfs", "rbd")
"""Classes whose second pod is on another node."""
ALONE = "rbd"
"""The class of which a second node must wait for the first."""
WAITS = "has one writer at a time"
"""What the event of a pod says that waits for its volume's only writer."""
PATH = "/data/proof"
MIB = 1 << 20
APP = {"app": "volume"}
PODS = f"get pods -n {o.SPACE} -l app=volume"
CLAIMS = f"get persistentvolumeclaims -n {o.SPACE}"
EVENTS = f"get events -n {o.SPACE} --field-selector involvedObject.name=volume-{ALONE}-2"


def name(kind: str, turn: int = 0) -> str:
    """Return the name of a class' claim, or of its first or second pod."""
    return f"volume-{kind}-{turn}" if turn else f"volume-{kind}"


def digest(token: str, kind: str, mib: int) -> str:
    """Return the sha256 of what the first pod of a class writes: as `kubeagent write` makes it."""
    report = hashlib.sha256()
    for i in range(mib):
        report.update(hashlib.sha256(f"{token} {name(kind)} {i}".encode()).digest() * (MIB // 32))
    return report.hexdigest()


def claim(kube: KubeTarget, kind: str, mib: int) -> dict[str, Any]:
    """Return a claim; that of the default class names none."""
    spec: dict[str, Any] = {
        "accessModes": [MODES[kind]],
        "resources": {"requests": {"storage": f"{mib}Mi"}},
    }
    if kind != kube.default_class:
        spec["storageClassName"] = kind
    meta = {"name": name(kind), "namespace": o.SPACE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def pod(kube: KubeTarget, kind: str, turn: int) -> dict[str, Any]:
    """Return a pod with a class' volume; the second one of ceph's classes is on another node than the first."""
    mounts = [{"name": "agent", "mountPath": "/agent"}, {"name": "data", "mountPath": "/data"}]
    one = o.container(kube, "volume", ["serve", str(o.PORT)], env={"CLAIM": name(kind)}, volumeMounts=mounts)
    volumes = [
        {"name": "agent", "configMap": {"name": "agent"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": name(kind)}},
    ]
    more: dict[str, Any] = {"volumes": volumes}
    if turn == 2 and kind in APART:
        first = {"labelSelector": {"matchLabels": {"volume": kind}}, "topologyKey": "kubernetes.io/hostname"}
        more["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [first]}}
    return o.pod(o.SPACE, name(kind, turn), {**APP, "volume": kind}, o.spec([one], **more))


class Drive:
    """One pass over all storage classes of the site.

    Args:
        cluster: the way to the cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.ctx, self.kube = cluster, cluster.ctx, cluster.kube
        self.limit = float(self.ctx.params["volumes_s"])
        self.job = {"path": PATH, "token": self.ctx.run, "mib": int(self.ctx.params["file_mib"])}
        self.texts: dict[str, str] = {}

    def run(self) -> dict[str, str]:
        """Do it; return what was printed, by name."""
        kinds = [k for k in self.kube.classes if k not in APART or len(self.kube.mounters) > 1]
        alive = self.start(kinds)
        volumes = self.volumes()
        self.meet(alive, volumes)
        self.part(alive)
        self.end(kinds, volumes)
        return self.texts

    def keep(self, text: str, path: str) -> None:
        """Keep the text of a raw file."""
        self.texts[text] = self.ctx.read(path)

    def start(self, kinds: list[str]) -> list[str]:
        """Claim volumes, start their first pods and let them write; return the classes whose pods run."""
        self.ctx.step("claim volumes and start pods that write", len(kinds))
        mib = int(self.ctx.params["claim_mib"])
        self.cluster.apply(*(claim(self.kube, k, mib) for k in kinds), *(pod(self.kube, k, 1) for k in kinds))
        self.cluster.wait(lambda: {name(k, 1) for k in kinds} <= self.running(), self.limit)
        running = self.running()
        alive = [k for k in kinds if name(k, 1) in running]
        self.inside("written", "write", (name(k, 1) for k in alive))
        return alive

    def volumes(self) -> list[str]:
        """Look at classes, claims and their volumes; return the names of these."""
        self.keep("classes", self.cluster.ctl("get storageclasses -o json", "classes"))
        self.keep("claims", self.cluster.ctl(f"{CLAIMS} -o json", "claims"))
        found = json.loads(self.texts["claims"])["items"]
        names = sorted(c["spec"]["volumeName"] for c in found if c["spec"].get("volumeName"))
        self.texts["volumes"] = ""
        if names:
            self.keep(
                "volumes", self.cluster.ctl(f"get persistentvolumes {' '.join(names)} -o json", "volumes")
            )
        return names

    def meet(self, alive: list[str], volumes: list[str]) -> None:
        """Start the second pods beside the first; look who has what while both are there."""
        self.ctx.step("start pods that read what others wrote", len(alive))
        if alive:
            self.cluster.apply(*(pod(self.kube, k, 2) for k in alive))
        wanted = {name(k, 2) for k in alive if k != ALONE}
        self.cluster.wait(
            lambda: wanted <= self.running() and (ALONE not in alive or self.settled()), self.limit
        )
        readers = sorted(self.running() & wanted)
        self.inside("read", "read", readers)
        self.keep("events", self.cluster.ctl(f"{EVENTS} -o json", "events"))
        self.mounts(volumes)
        # Last: what it shows was so until now.
        self.keep("pods", self.cluster.ctl(f"{PODS} -o json", "pods"))

    def mounts(self, volumes: list[str]) -> None:
        """Count on every node the mounts of each of our volumes."""
        lines = {
            n: "".join(
                f"""echo '{{"node": "{n}", "volume": "{v}", "mounts": '$(grep -c {v} /proc/mounts)'}}'; """
                for v in volumes
            )
            for n in self.kube.nodes
        }
        done = self.ctx.rec.map(lines, "mounts") if volumes else {}
        self.texts["mounts"] = "".join(r.stdout for r in done.values())

    def part(self, alive: list[str]) -> None:
        """End all pods but the one that waits; that one must get the volume with all its data."""
        self.ctx.step("hand the block volume over")
        waits = name(ALONE, 2) if ALONE in alive else ""
        there = {name(k, turn) for k in self.kube.classes for turn in (1, 2)} - {waits}
        self.remove("pods", there)
        self.cluster.wait(
            lambda: (not waits or waits in self.running()) and not self.there() & there, self.limit
        )
        self.inside("moved", "read", sorted(self.running() & {waits}))

    def end(self, kinds: list[str], volumes: list[str]) -> None:
        """Remove claims and wait until their volumes are gone with them."""
        self.ctx.step("remove the claims")
        self.remove("persistentvolumeclaims", {name(k) for k in kinds if k != ALONE})
        if ALONE in kinds:
            self.remove("pods", {name(ALONE, 2)})
            self.cluster.wait(lambda: not self.there(), self.limit)
            self.remove("persistentvolumeclaims", {name(ALONE)})
        self.texts["left"] = ""
        if volumes:
            line = f"kubectl get persistentvolumes {' '.join(volumes)} -o name --ignore-not-found"

            def gone() -> bool:
                done = self.ctx.rec.fleet.run(self.kube.master, line)
                return done.rc == 0 and not done.stdout.strip()

            self.cluster.wait(gone, self.limit)
            self.keep("left", self.cluster.run(line, "left"))

    def inside(self, text: str, command: str, pods: Iterable[str]) -> None:
        """Run a command of the pods' program in some pods; keep what they reported."""
        there = list(pods)
        self.texts[text] = ""
        if there:
            self.keep(text, self.cluster.inside(there, text, command, self.job))

    def remove(self, what: str, names: set[str]) -> None:
        """Have objects deleted, without waiting until they are gone."""
        if names:
            listed = " ".join(sorted(names))
            self.cluster.ctl(f"delete {what} -n {o.SPACE} {listed} --ignore-not-found", "delete")

    def there(self) -> set[str]:
        """Return the names of our pods that are there."""
        return {p["metadata"]["name"] for p in self.cluster.quietly(PODS).get("items", [])}

    def running(self) -> set[str]:
        """Return the names of our pods that run and are not being deleted."""
        return {
            p["metadata"]["name"]
            for p in self.cluster.quietly(PODS).get("items", [])
            if p["status"].get("phase") == "Running" and not p["metadata"].get("deletionTimestamp")
        }

    def settled(self) -> bool:
        """Return whether the pod that must wait was informed, or runs."""
        if name(ALONE, 2) in self.running():
            return True
        events = self.cluster.quietly(EVENTS).get("items", [])
        return any(WAITS in e.get("message", "") for e in events)
