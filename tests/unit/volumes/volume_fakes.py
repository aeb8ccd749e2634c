"""The programs of kube_volumes, an API that holds objects, and a file system in memory that behaves like libcephfs."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import ansible.module_utils

HOME = Path(__file__).parents[3]
FILES = HOME / "roles/kube_volumes/files"
UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
NAME = f"pvc-{UID}"


# As on a node, where a program finds what lies beside it.
sys.path.append(str(FILES))
ansible.module_utils.__path__.append(str(HOME / "plugins/module_utils"))


def load(name):
    """Return a program of the role as a module."""
    spec = importlib.util.spec_from_file_location(f"kube_volumes_{name}", FILES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


provisioner = load("provisioner")
CLASSES = {"cephfs": "avadm.io/cephfs", "rbd": "avadm.io/rbd", "local": "avadm.io/local"}


class FakeCeph:
    """The module cephfs. `tree` maps absolute paths to `dir`, `file` or `link`; links are never followed here."""

    class Error(Exception):
        pass

    class ObjectExists(Error):
        pass

    class ObjectNotFound(Error):
        pass

    class ObjectNotEmpty(Error):
        pass

    def __init__(self):
        self.tree, self.quota, self.modes, self.open = {"/": "dir"}, {}, {}, 0
        self.broken = None

    def LibCephFS(self, conffile, auth_id):
        assert (conffile, auth_id) == ("/etc/ceph/ceph.conf", "cephfs-volumes")
        return FakeSession(self)


class FakeSession:
    """One mount with a root of its own."""

    def __init__(self, ceph):
        self.ceph, self.top = ceph, None

    def path(self, name):
        parts = [p for p in name.decode().split("/") if p]
        assert ".." not in parts
        return "/" + "/".join([p for p in self.top.split("/") if p] + parts)

    def mount(self, top):
        if self.ceph.broken:
            raise self.ceph.Error(self.ceph.broken)
        if self.ceph.tree.get(top.decode()) != "dir":
            raise self.ceph.ObjectNotFound(top)
        self.top = top.decode()
        self.ceph.open += 1

    def shutdown(self):
        self.ceph.open -= 1

    def mkdir(self, name, mode):
        path = self.path(name)
        if path in self.ceph.tree:
            raise self.ceph.ObjectExists(path)
        assert self.ceph.tree[path.rpartition("/")[0] or "/"] == "dir"
        self.ceph.tree[path] = "dir"

    def chmod(self, name, mode):
        self.ceph.modes[self.path(name)] = mode

    def setxattr(self, name, key, value, flags):
        assert key == "ceph.quota.max_bytes"
        self.ceph.quota[self.path(name)] = int(value)

    def opendir(self, name):
        path = self.path(name)
        if path not in self.ceph.tree:
            raise self.ceph.ObjectNotFound(path)
        inside = [p for p in self.ceph.tree if p != "/" and (p.rpartition("/")[0] or "/") == path]
        return iter([".", "..", *(p.rpartition("/")[2] for p in inside)]), path

    def readdir(self, handle):
        names, path = handle
        name = next(names, None)
        if name is None:
            return None
        is_dir = name.startswith(".") or self.ceph.tree[f"{path.rstrip('/')}/{name}"] == "dir"
        return SimpleNamespace(d_name=name.encode(), is_dir=lambda: is_dir)

    def closedir(self, handle):
        pass

    def unlink(self, name):
        assert self.ceph.tree.pop(self.path(name)) != "dir"

    def rmdir(self, name):
        path = self.path(name)
        if path not in self.ceph.tree:
            raise self.ceph.ObjectNotFound(path)
        if any(other.startswith(path + "/") for other in self.ceph.tree):
            raise self.ceph.ObjectNotEmpty(path)
        del self.ceph.tree[path]


class FakeApi:
    """The few objects that provisioning is about."""

    def __init__(self):
        kinds = [
            {"metadata": {"name": name}, "provisioner": p, "reclaimPolicy": "Delete"}
            for name, p in CLASSES.items()
        ]
        self.lists = {provisioner.CLASSES: kinds, provisioner.CLAIMS: [], provisioner.VOLUMES: []}
        self.events, self.refuse, self.changes = [], {}, []

    def call(self, method, path, body=None):
        if (method, path) in self.refuse:
            raise self.refuse[method, path]
        if method == "GET":
            found = self.lists[path]
            return {"items": list(found)} if isinstance(found, list) else found
        if method == "PATCH":
            self.changes.append((path, body))
            return {}
        if path.endswith("/events"):
            self.events.append(body)
            return body
        if method == "POST":
            if any(v["metadata"]["name"] == body["metadata"]["name"] for v in self.lists[path]):
                raise provisioner.ApiError(409, "it is there")
            meta = {**body["metadata"], "uid": "the volume's own"}
            self.lists[path].append({**body, "metadata": meta, "status": {"phase": "Bound"}})
            return body
        assert method == "DELETE"
        kind, _, name = path.rpartition("/")
        left = [v for v in self.lists[kind] if v["metadata"]["name"] != name]
        if len(left) == len(self.lists[kind]):
            raise provisioner.ApiError(404, "it is gone")
        self.lists[kind] = left
        return {}

    @property
    def volumes(self):
        return self.lists[provisioner.VOLUMES]


def claim(kind="cephfs", annotations=None, **spec):
    """Return a claim that waits for a volume."""
    return {
        "metadata": {
            "namespace": "team",
            "name": "data",
            "uid": UID,
            "resourceVersion": "7",
            "annotations": {
                "volume.beta.kubernetes.io/storage-provisioner": CLASSES[kind],
                **(annotations or {}),
            },
        },
        "spec": {
            "storageClassName": kind,
            "accessModes": ["ReadWriteMany" if kind == "cephfs" else "ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
        "status": {"phase": "Pending"},
    }


class World:
    """A provisioner with its surroundings."""

    def __init__(self, turn=0, api=None, ceph=None):
        self.api, self.ceph, self.now, self.log = api or FakeApi(), ceph or FakeCeph(), 100.0, []
        config = {"mount": "/mnt/cephfs", "root": "/volumes", "turn": turn, "entity": "client.cephfs-volumes"}
        self.kind = load("volumes_folders").Cephfs(config, self.ceph)
        self.it = provisioner.Provisioner(self.api, [self.kind], lambda: self.now, self.log.append)

    def ask(self, **spec):
        """Make a claim."""
        self.api.lists[provisioner.CLAIMS] = [claim(**spec)]

    def release(self, **changes):
        """Take the claim away."""
        self.api.lists[provisioner.CLAIMS] = []
        self.api.volumes[0]["status"]["phase"] = "Released"
        self.api.volumes[0]["spec"].update(changes)
