"""Folders in cephfs through ceph's own library, their limits, and amounts of bytes as Kubernetes writes them."""

import math
import re
from contextlib import contextmanager
from decimal import Decimal

SUFFIXES = {
    "": 1,
    "m": Decimal("0.001"),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
}
SUFFIXES.update({unit + "i": 1 << (10 * i) for i, unit in enumerate("KMGTPE", 1)})


class VolumeError(Exception):
    """A claim or a volume cannot be served; says why."""


def bytes_of(quantity):
    """Return a quantity of Kubernetes (1Gi, 500M, 1e9) in bytes, rounded up; VolumeError for none."""
    match = re.match(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,2})?)([a-zA-Z]*)$", str(quantity))
    if not match or match.group(2) not in SUFFIXES:
        raise VolumeError("%r is no amount of bytes" % quantity)
    size = math.ceil(Decimal(match.group(1)) * SUFFIXES[match.group(2)])
    if not 0 < size < 1 << 63:
        raise VolumeError("%r is no size of a volume" % quantity)
    return size


class Folders:
    """The claims' folders in the file system.

    Args:
        config: entity, root (the folder of all volumes in the file system).
        library: ceph's module cephfs.
    """

    def __init__(self, config, library):
        self.root, self.library = config["root"], library
        self.entity = config["entity"].partition(".")[2]

    @contextmanager
    def session(self, top="/"):
        """Give the file system with a folder of it as root."""
        fs = self.library.LibCephFS(conffile="/etc/ceph/ceph.conf", auth_id=self.entity)
        fs.mount(top.encode())
        try:
            yield fs
        finally:
            fs.shutdown()

    def make(self, name, size):
        """Make a folder with a limit of its size; what is there stays as it is."""
        with self.session() as fs:
            path = "%s/%s" % (self.root, name)
            # Root alone reaches the folders by way of the hosts' mount; containers are given theirs.
            for folder, mode in ((self.root, 0o700), (path, 0o777)):
                try:
                    fs.mkdir(folder.encode(), mode)
                    fs.chmod(folder.encode(), mode)
                except self.library.ObjectExists:
                    pass
            fs.setxattr(path.encode(), "ceph.quota.max_bytes", str(size).encode(), 0)

    def remove(self, name):
        """Remove a folder with what is in it; one that is gone already is well."""
        try:
            with self.session("%s/%s" % (self.root, name)) as fs:
                self.empty(fs)
            with self.session() as fs:
                fs.rmdir(("%s/%s" % (self.root, name)).encode())
        except self.library.ObjectNotFound:
            pass

    def empty(self, fs):
        """Remove everything below the session's root, links as links."""
        todo = [b"/"]
        while todo:
            path, inner = todo[-1], []
            for entry, is_folder in self.entries(fs, path):
                child = path.rstrip(b"/") + b"/" + entry
                if is_folder:
                    inner.append(child)
                else:
                    fs.unlink(child)
            todo += inner
            if not inner and path != b"/":
                fs.rmdir(path)
            if not inner:
                todo.pop()

    @staticmethod
    def entries(fs, path):
        """Return (name, whether it is a folder) of all in a folder."""
        handle, found = fs.opendir(path), []
        try:
            while True:
                entry = fs.readdir(handle)
                if entry is None:
                    return found
                if entry.d_name not in (b".", b".."):
                    found.append((entry.d_name, bool(entry.is_dir())))
        finally:
            fs.closedir(handle)
