"""Claims and pods that use them, in a namespace of their own on the lab."""

import shlex
import uuid

from avadm.site.load import load
from tests.lab.waiting import wait

LABEL = "avadm.io/cephfs"


class Volumes:
    """A namespace with claims and pods that use them."""

    def __init__(self, kube, lab):
        site = load(lab.site_path).site
        self.kube, self.lab, self.space = kube, lab, f"volumes-{uuid.uuid4().hex[:8]}"
        self.mount = site.components.ceph.filesystem.mount
        self.image = f"registry.{site.network.domain}:5000/avadm/base:12"
        self.nodes = [n for n in lab.names("worker") if n in lab.names("client")]

    def ask(self, name, size, kind=None, modes=("ReadWriteMany",), clone_of=None):
        """Make a claim, of the default class where none is named."""
        spec = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}}
        if kind:
            spec["storageClassName"] = kind
        meta = {"name": name, "namespace": self.space}
        if clone_of:
            meta["annotations"] = {"avadm.io/clone-of": clone_of}
        self.kube.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})

    def bound(self, name, seconds=120):
        """Return the name of a claim's volume once it is bound."""
        there = wait(lambda: self.get(f"pvc {name}")["status"]["phase"] == "Bound", seconds, 1)
        assert there, self.kube.ctl(f"describe pvc {name} -n {self.space}")
        return self.get(f"pvc {name}")["spec"]["volumeName"]

    def claim(self, name, size, **given):
        """Make a claim; return its volume's name once it is bound."""
        self.ask(name, size, **given)
        return self.bound(name)

    def pod(self, name, node, claim):
        """Make a pod with a claim's volume at /data: on a node past the scheduler, or where that puts it (None)."""
        mounts = [{"name": "data", "mountPath": "/data"}]
        one = {"name": "one", "image": self.image, "command": ["sleep", "3600"], "volumeMounts": mounts}
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        self.kube.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": self.space},
                "spec": {
                    **({"nodeName": node} if node else {}),
                    "containers": [one],
                    "volumes": [volume],
                    "terminationGracePeriodSeconds": 0,
                },
            }
        )

    def get(self, what):
        """Return objects of the namespace."""
        return self.kube.get(f"{what} -n {self.space}")

    def is_up(self, name):
        """Tell whether a pod runs."""
        return self.get(f"pod {name}")["status"]["phase"] == "Running"

    def up(self, name):
        """Wait until a pod runs."""
        assert wait(lambda: self.is_up(name), 120), self.kube.ctl(f"describe pod {name} -n {self.space}")

    def event(self, name, words, seconds=120):
        """Wait for an event of an object that has some words; return its message, or None."""

        def found():
            events = self.get("events")["items"]
            mine = [e["message"] for e in events if e["involvedObject"]["name"] == name]
            return next((m for m in mine if words in m), None)

        return wait(found, seconds)

    def drop(self, name):
        """Delete a pod, and wait until it is gone."""
        self.kube.ctl(f"delete pod {name} -n {self.space} --now", 120)

    def must(self, name, command):
        """Run a shell command in a pod; return its output. A failure fails the test."""
        done = self.inside(name, command)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def inside(self, name, command):
        """Run a shell command in a pod."""
        return self.lab.run(
            self.kube.master, f"kubectl exec -n {self.space} {name} -- sh -c {shlex.quote(command)}"
        )

    def folders(self, node):
        """Return the folders of all volumes as a node's mount shows them."""
        return self.lab.sh(node, f"ls {self.mount}/volumes").split()

    def labelled(self, node):
        """Tell whether a node says that it has the file system."""
        return self.kube.get(f"node {node}")["metadata"]["labels"].get(LABEL) == "mounted"
