"""A pool of images as `rbd` shows it, and the programs that a node mounts them with."""

import json
from contextlib import contextmanager

from tests.unit.volumes.volume_fakes import load

maps = load("map")
MIB = 1 << 20


def verb(words):
    """Return which of the pool's methods a command line is for."""
    return "_".join(words[:2] if words[0] == "snap" else words[:1]).replace("-", "_")


class FakePool:
    """Images: name to size, snapshots, parent, who has it open; and what was run."""

    def __init__(self):
        self.images, self.ran, self.locks, self.open_by = {}, [], set(), {}
        self.answers = {}

    def image(self, name, size=256 * MIB, parent=None):
        """Have an image."""
        self.images[name] = {"size": size, "snaps": {}, "parent": parent, "meta": {}}

    def run(self, argv, seconds=60):
        """Be `rbd`, or another program that works."""
        self.ran.append(argv)
        for words, answer in self.answers.items():
            if words in " ".join(argv):
                return answer
        if argv[0] != "rbd":
            return 0, "", ""
        words = [w for w in argv[3:] if w not in ("--format", "json", "--no-progress", "--image-format", "2")]
        try:
            done = getattr(self, "do_" + verb(words))(*words)
        except KeyError as error:
            return 2, "", f"rbd: error opening image {error}"
        return 0, done if isinstance(done, str) else json.dumps(done), ""

    @staticmethod
    def parts(spec):
        """Return image and snapshot of a name like rbd/image@snap."""
        image, _, snap = spec.removeprefix("rbd/").partition("@")
        return image, snap

    def do_ls(self, _ls, pool):
        return sorted(self.images)

    def do_info(self, _info, spec):
        image, snap = self.parts(spec)
        one = self.images[image]
        if snap:
            return {"protected": str(one["snaps"][snap]).lower()}
        report = {"size": one["size"]}
        if one["parent"]:
            report["parent"] = dict(zip(("image", "snapshot"), self.parts(one["parent"]), strict=True))
        return report

    def do_status(self, _status, spec):
        image, _ = self.parts(spec)
        assert image in self.images
        return {"watchers": [{"address": a} for a in self.open_by.get(image, [])]}

    def do_create(self, _create, *words):
        self.image(self.parts(words[-1])[0], int(words[words.index("--size") + 1].rstrip("M")) * MIB)
        return ""

    def do_clone(self, _clone, *words):
        origin, snap = self.parts(words[-2])
        assert self.images[origin]["snaps"][snap], "a snapshot that is cloned is protected"
        self.image(self.parts(words[-1])[0], self.images[origin]["size"], words[-2])
        return ""

    def do_resize(self, _resize, _size, size, spec):
        self.images[self.parts(spec)[0]]["size"] = int(size.rstrip("M")) * MIB
        return ""

    def do_rename(self, _rename, old, new):
        self.images[self.parts(new)[0]] = self.images.pop(self.parts(old)[0])
        return ""

    def do_rm(self, _rm, spec):
        assert not self.images[self.parts(spec)[0]]["snaps"]
        del self.images[self.parts(spec)[0]]
        return ""

    def do_image_meta(self, _meta, verb, spec, key="", value=""):
        meta = self.images[self.parts(spec)[0]]["meta"]
        if verb == "set":
            meta[key] = value
        elif verb == "remove":
            del meta[key]
        return meta if verb == "list" else ""

    def do_children(self, _children, spec):
        return [{"image": n} for n, one in self.images.items() if one["parent"] == spec]

    def do_snap_ls(self, _snap, _ls, spec):
        return [{"name": n} for n in self.images[self.parts(spec)[0]]["snaps"]]

    def do_snap_create(self, _snap, _create, spec):
        image, snap = self.parts(spec)
        self.images[image]["snaps"][snap] = False
        return ""

    def do_snap_protect(self, _snap, _protect, spec):
        image, snap = self.parts(spec)
        self.images[image]["snaps"][snap] = True
        return ""

    def do_snap_unprotect(self, _snap, _unprotect, spec):
        image, snap = self.parts(spec)
        assert not self.do_children("", spec)
        self.images[image]["snaps"][snap] = False
        return ""

    def do_snap_rm(self, _snap, _rm, spec):
        image, snap = self.parts(spec)
        assert not self.images[image]["snaps"][snap], "protected"
        del self.images[image]["snaps"][snap]
        return ""


class FakeImages(maps.Images):
    """A node's images without rados and without mounts: locks are names, mapping notes a watcher."""

    def __init__(self, pool, node="w1"):
        super().__init__(
            {"pool": "rbd", "entity": "client.rbd", "mapper": "rbd-fuse", "node": node}, pool.run
        )
        self.at, self.mapped = pool, []

    @contextmanager
    def locked(self, thing, lock, seconds, busy):
        """Hold a lock."""
        if (thing, lock) in self.at.locks:
            raise busy
        self.at.locks.add((thing, lock))
        try:
            yield
        finally:
            self.at.locks.discard((thing, lock))

    def map(self, image, read_only=False):
        """Open an image."""
        assert image in self.at.images
        self.at.open_by.setdefault(image, []).append(self.node)
        self.mapped.append((image, read_only))
        return "/mapped/" + image

    def unmap(self, image):
        """Close it."""
        if self.node in self.at.open_by.get(image, []):
            self.at.open_by[image].remove(self.node)
