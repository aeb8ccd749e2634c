"""The registry's folder, read: repositories, manifests, layers, uploads.

Its layout is https://github.com/distribution/distribution/blob/v2.8.1/registry/storage/paths.go. Nothing follows a link.
Python 3.5 or later.
"""

import json
import os
import re

KINDS = ("users", "groups")
"""What lies below these is a user's or a group's own; the rest is the site's."""
LARGEST = 4 * 2**20
"""Bytes of a manifest: the registry's own limit."""
REMEMBERED = 200000
"""Digests in what is kept in memory of manifests, which never have another content."""
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})\Z")
_NAME = re.compile(r"[a-z0-9]([-._a-z0-9]*[a-z0-9])?\Z")


class Storage:
    """What a registry keeps.

    Args:
        root: its rootdirectory.
    """

    def __init__(self, root):
        self.root = root
        self.base = os.path.join(root, "docker", "registry", "v2")
        self.blobs = os.path.join(self.base, "blobs", "sha256")
        self._named, self._kept = {}, 0

    def path(self, name=""):
        """Return the folder of a repository, or of all."""
        return os.path.join(self.base, "repositories", *name.split("/"))

    def owners(self):
        """Return whose images are there: ``users/NAME``, ``groups/NAME``."""
        return [kind + "/" + name for kind in KINDS for name in folders(self.path(kind))]

    def repositories(self, owner=""):
        """Yield repositories below a name with their folders, in order; all where it is empty."""
        left = [owner] if owner else folders(self.path())
        while left:
            name = left.pop()
            there = folders(self.path(name))
            if any(part.startswith("_") for part in there):
                yield name, self.path(name)
            left += [name + "/" + part for part in reversed(there) if not part.startswith("_")]

    def revisions(self, repository):
        """Return the digests (hexadecimal) of a repository's manifests with the times of their pushes, and of deleted ones."""
        place = os.path.join(repository, "_manifests", "revisions", "sha256")
        live, gone = {}, set()
        for name in folders(place):
            time = changed(os.path.join(place, name, "link"))
            if time is None:
                gone.add(name)
            else:
                live[name] = time
        return live, gone

    def tags(self, repository):
        """Return tag to the manifest's digest and the time of the push."""
        place, found = os.path.join(repository, "_manifests", "tags"), {}
        for name in folders(place):
            link = os.path.join(place, name, "current", "link")
            match = _DIGEST.match(content(link, 100).decode("latin-1").strip())
            if match:
                found[name] = match.group(1), changed(link) or 0
        return found

    def layers(self, repository):
        """Return the digests of what a repository has of layers, whether a manifest names them or not."""
        place = os.path.join(repository, "_layers", "sha256")
        return {n for n in folders(place) if os.path.lexists(os.path.join(place, n, "link"))}

    def uploads(self, repository):
        """Return folder to bytes of what is being sent."""
        place, found = os.path.join(repository, "_uploads"), {}
        for name in folders(place):
            size = length(os.path.join(place, name, "data"))
            if size is not None:
                found[os.path.join(place, name)] = size
        return found

    def blob(self, digest):
        """Return where a blob's content lies."""
        return os.path.join(self.blobs, digest[:2], digest, "data")

    def size(self, digest):
        """Return a blob's bytes; 0 where it is not there (any more)."""
        return length(self.blob(digest)) or 0

    def named(self, digest):
        """Return what a manifest names: digests of layers and configuration, and of the manifests of a list; None for none."""
        if not self.size(digest):
            return None
        if digest not in self._named:
            if self._kept >= REMEMBERED:
                self._named, self._kept = {}, 0
            found = self._named[digest] = names(content(self.blob(digest), LARGEST))
            self._kept += 1 + len(found[0]) + len(found[1])
        return self._named[digest]


def names(text):
    """Return what a manifest's text names: parts, manifests. Of what is no manifest: nothing."""
    try:
        found = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return frozenset(), frozenset()
    if not isinstance(found, dict):
        return frozenset(), frozenset()
    parts = [found.get("config")]
    for key in ("layers", "blobs"):
        parts += listed(found.get(key))
    old = [one.get("blobSum") for one in listed(found.get("fsLayers")) if isinstance(one, dict)]
    children = [one.get("digest") for one in listed(found.get("manifests")) if isinstance(one, dict)]
    parts = [one.get("digest") for one in parts if isinstance(one, dict)] + old
    return _digests(parts), _digests(children)


def listed(value):
    """Return a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def _digests(values):
    matches = [_DIGEST.match(value) for value in values if isinstance(value, str)]
    return frozenset(match.group(1) for match in matches if match)


def is_owner(owner):
    """Whether a text names a user or group."""
    kind, _, name = owner.partition("/")
    return kind in KINDS and len(name) <= 100 and _NAME.match(name) is not None


def folders(path):
    """Return the names of the folders in a folder, sorted; links are none."""
    try:
        return sorted(entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def content(path, most):
    """Return the first bytes of a file; none where it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def changed(path):
    """Return when a file was changed, seconds since 1970; None where it is not there."""
    try:
        return os.lstat(path).st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None


def length(path):
    """Return a file's bytes; None where it is not there."""
    try:
        return os.lstat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
