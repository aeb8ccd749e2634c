"""Volumes of the storage class cephfs: folders with a limit, through ceph's own library."""

from contextlib import contextmanager

from .common import Kind, VolumeError

NODE_LABEL = "avadm.io/cephfs"


class Cephfs(Kind):
    """Makes and removes a folder for each claim.

    It speaks to ceph itself (libcephfs) and uses no mount of its node, so that a mount that is gone can never make it
    write to a local disk. A folder is emptied through a session whose root is that folder: no name and no link in it
    leads elsewhere.

    Args:
        config: mount (where nodes mount the file system), root, turn, entity.
        library: ceph's module cephfs.
    """

    provisioner, retry_s = "avadm.io/cephfs", 5

    def __init__(self, config, library):
        self.folders = Folders(config, library)
        self.path = config["mount"].rstrip("/") + config["root"]
        self.wait_s = config["turn"] * self.retry_s

    @staticmethod
    def owns(volume):
        """Tell whether a volume is this node's to remove."""
        return True

    def make(self, name, claim, size):
        """Make a claim's folder; return (source of its volume, where pods may use it).

        The path must be a folder already (type Directory) and is one only where the file system is mounted; nodes
        that say it is have the label.
        """
        try:
            self.folders.make(name, size)
        except self.folders.library.Error as error:
            raise VolumeError(str(error))
        source = {"hostPath": {"path": "%s/%s" % (self.path, name), "type": "Directory"}}
        return source, {"key": NODE_LABEL, "operator": "In", "values": ["mounted"]}

    def remove(self, name, volume):
        """Remove a volume's folder."""
        path = (volume["spec"].get("hostPath") or {}).get("path")
        if path != "%s/%s" % (self.path, name):
            raise VolumeError("its path is %r, not %s/%s: nothing is removed" % (path, self.path, name))
        try:
            self.folders.remove(name)
        except self.folders.library.Error as error:
            raise VolumeError(str(error))


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
