"""The programs of kube_volumes, an API that holds objects, and a file system in memory that behaves like libcephfs."""

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from avadm_node.agents import volumes

FILES = Path(volumes.__file__).parent
UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
NAME = f"pvc-{UID}"


def load(name):
    """Return a module of avadm_node/agents/volumes."""
    return import_module(f"avadm_node.agents.volumes.{name}")


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


def claim(kind="cephfs", annotations=None, size="1Gi", **spec):
    """Return a claim that waits for a volume."""
    notes = {"volume.beta.kubernetes.io/storage-provisioner": CLASSES[kind], **(annotations or {})}
    meta = {"namespace": "team", "name": "data", "uid": UID, "resourceVersion": "7", "annotations": notes}
    asked = {
        "storageClassName": kind,
        "accessModes": ["ReadWriteMany" if kind == "cephfs" else "ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    return {"metadata": meta, "spec": {**asked, **spec}, "status": {"phase": "Pending"}}


class Surroundings:
    """A provisioner of one kind of volumes with its API; time stands still until it is moved."""

    def __init__(self, kind, api=None):
        self.api, self.now, self.log = api or FakeApi(), 100.0, []
        self.kind = kind(self.api)
        self.it = provisioner.Provisioner(self.api, [self.kind], lambda: self.now, self.log.append)

    def ask(self, **asked):
        """Make a claim."""
        self.api.lists[provisioner.CLAIMS] = [claim(self.kind.provisioner.rpartition("/")[2], **asked)]

    def release(self, options=None, **changes):
        """Take the claim away."""
        self.api.lists[provisioner.CLAIMS] = []
        volume = self.api.volumes[0]
        volume["status"]["phase"] = "Released"
        volume["spec"].update(changes)
        volume["spec"].get("flexVolume", {"options": {}})["options"].update(options or {})

    @property
    def messages(self):
        return [event["message"] for event in self.api.events]


class World(Surroundings):
    """The provisioner of folders on cephfs."""

    def __init__(self, turn=0, api=None, ceph=None):
        self.ceph = ceph or FakeCeph()
        config = {"mount": "/mnt/cephfs", "root": "/volumes", "turn": turn, "entity": "client.cephfs-volumes"}
        super().__init__(lambda _: load("folders").Cephfs(config, self.ceph), api)
