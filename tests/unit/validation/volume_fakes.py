"""Volumes of a cluster without nodes: what kubectl, the pods and the nodes say of three storage classes."""

import hashlib
import json
import shlex

from avadm_validation.suites.kubernetes.volumes import MODES, WAITS

MIB = 1 << 20


class FakeVolumes:
    """Good volumes; the attributes are what faults change."""

    def __init__(self):
        self.classes, self.marked = ["cephfs", "rbd", "local"], ["cephfs"]
        self.unbound, self.spoiled, self.together = set(), set(), set()
        self.let_in = self.mounted_twice = self.silent = False
        self.claims, self.pods = {}, {}

    def answers(self):
        """Return what a fleet answers, by a part of the command."""
        return {
            "get storageclasses": lambda n, c: item_list([self.klass(k) for k in self.classes]),
            "get persistentvolumeclaims": lambda n, c: item_list([self.claim(k) for k in self.claims]),
            "-o name --ignore-not-found": "",
            "get persistentvolumes": lambda n, c: item_list(
                [self.volume(k) for k in MODES if f"pvc-{k}" in c]
            ),
            "app=volume": lambda n, c: item_list([self.pod(p) for p in self.pods]),
            "get events": lambda n, c: item_list([] if self.silent else [self.event()]),
            "delete pods": self.delete,
            "grep -c": self.mounts,
        }

    def apply(self, command):
        """Note what is made."""
        if '"volume-' not in command:
            return
        for made in json.loads(command.split("\n")[1])["items"]:
            name = made["metadata"]["name"]
            if made["kind"] == "Pod":
                self.pods[name] = made
            elif made["kind"] == "PersistentVolumeClaim":
                self.claims[name.removeprefix("volume-")] = made

    def delete(self, node, command):
        for name in command.split():
            self.pods.pop(name, None)
        return ""

    def klass(self, kind):
        default = "true" if kind in self.marked else "false"
        return {"metadata": {"name": kind, "annotations": {f"{KEY}/is-default-class": default}}}

    def claim(self, kind):
        bound = kind not in self.unbound
        asked = self.claims[kind]["spec"].get("storageClassName")
        spec = {"storageClassName": asked or next(iter(self.marked), "")}
        spec |= {"volumeName": f"pvc-{kind}"} if bound else {}
        meta = {"name": f"volume-{kind}", "uid": kind, "creationTimestamp": "2026-11-22T05:00:00Z"}
        return {"metadata": meta, "spec": spec, "status": {"phase": "Bound" if bound else "Pending"}}

    def volume(self, kind):
        spec = {"storageClassName": kind, "accessModes": [MODES[kind]], "claimRef": {"uid": kind}}
        return {
            "metadata": {"name": f"pvc-{kind}", "creationTimestamp": "2026-11-22T05:00:03Z"},
            "spec": spec,
        }

    def node(self, name):
        """Return where a pod is: the second one of ceph's classes on another node than the first."""
        _, kind, turn = name.split("-")
        return "n2" if turn == "2" and kind != "local" and kind not in self.together else "n1"

    def runs(self, name):
        _, kind, turn = name.split("-")
        waits = kind == "rbd" and turn == "2" and "volume-rbd-1" in self.pods and not self.let_in
        return kind not in self.unbound and not waits

    def pod(self, name):
        state = {"running": {"startedAt": "2026-11-22T05:00:05Z"}} if self.runs(name) else {"waiting": {}}
        return {
            "metadata": {"name": name, "creationTimestamp": "2026-11-22T05:00:01Z"},
            "spec": {"nodeName": self.node(name)},
            "status": {
                "phase": "Running" if self.runs(name) else "Pending",
                "containerStatuses": [{"name": "volume", "state": state}],
            },
        }

    def event(self):
        words = f"rbd/pvc-rbd {WAITS}, and is open at 10.2.0.11"
        return {"involvedObject": {"name": "volume-rbd-2"}, "reason": "FailedMount", "message": words}

    def mounts(self, node, command):
        there = {"n1": set(MODES), "n2": {"cephfs", *(["rbd"] if self.mounted_twice else [])}}
        return "".join(
            json.dumps({"node": node, "volume": f"pvc-{k}", "mounts": int(k in there.get(node, ()))}) + "\n"
            for k in MODES
            if f"pvc-{k}" in command
        )

    def inside(self, command):
        """Do in the pods what their program would do."""
        tokens = shlex.split(command)
        program = shlex.split(next(t for t in tokens if t.startswith("kubectl exec")))
        what, job = next(
            (w, json.loads(program[i + 1])) for i, w in enumerate(program) if w in ("write", "read")
        )
        return "".join(self.result_of(what, t, job) for t in tokens if t.startswith("volume-"))

    def result_of(self, what, pod, job):
        kind, content = pod.split("-")[1], hashlib.sha256()
        for i in range(job["mib"]):
            word = f"{job['token']} volume-{kind} {i}".encode()
            content.update(hashlib.sha256(word).digest() * (MIB // 32))
        if what == "read" and kind in self.spoiled:
            content.update(b"x")
        return (
            json.dumps({"node": self.node(pod), "pod": pod, "sha256": content.hexdigest(), "error": ""})
            + "\n"
        )


KEY = "storageclass.kubernetes.io"


def item_list(items):
    return json.dumps({"kind": "List", "items": items})
