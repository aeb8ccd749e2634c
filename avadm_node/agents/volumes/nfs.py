"""Folders of NFS servers as volumes: read-only, of servers that the site allows, and never in the way of their node.

A node mounts such a folder once for all pods, and a pod's folder is a bind of that. The mount is soft: a server that is
silent is an error for who reads, after a minute, and no hang for ever; reading loses nothing by that. Kubelet looks at a
pod's folder before it has it unmounted, and would look at a dead server: so the node watches (Watch), and takes what does
not answer out of kubelet's sight. A container that runs keeps its own view, and reads on when the server is back. Python
3.5 or later.
"""

import hashlib
import os
import re
import time

from .common import VolumeError, must, run
from .map import RUN, is_mounted, mounts

NAME = re.compile(r"nfs-[0-9a-f]{32}")
SERVER = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
PATH = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._-]*)+")
OPTIONS = "ro,soft,timeo=100,retrans=2,retry=0,nolock,nosuid,nodev"
"""A request is given up after 10 + 20 + 30 s, a mount at once; nothing there gives rights, and no one locks."""
MOUNT_S, LOOK_S, DETACH_S = 60, 10, 30
MISSES, PERIOD_S = 3, 5
LAYERS = 8
"""Mounts that may lie over one another at a place."""
AWAY = RUN + "/away"
"""What is put in the place of a folder whose server is silent: root's alone, so that no container takes it for an empty one."""


def volume(server, path):
    """Return the name of a server's folder on nodes (the same as in ava/domain/data_sets.py)."""
    return "nfs-" + hashlib.sha256(("%s:%s" % (server, path)).encode()).hexdigest()[:32]


def bounded(seconds, argv):
    """Return a command line that ends with all that it began."""
    return ["timeout", "-s", "KILL", str(seconds)] + argv


class Nfs:
    """Mounts and unmounts for the driver.

    Args:
        servers: that the site allows.
        alone: gives one call at a time a volume, by name.
        run: for tests.
    """

    def __init__(self, servers, alone, run=run):
        self.servers, self.alone, self.run = servers, alone, run

    def mount(self, folder, options):
        """Show a server's folder at a pod's folder."""
        server, path = str(options.get("server", "")), str(options.get("path", ""))
        if not SERVER.fullmatch(server) or not PATH.fullmatch(path) or options.get("access") != "ro":
            raise VolumeError("%r:%r is no folder of a server that is read alone" % (server, path))
        if server not in self.servers:
            raise VolumeError("this site mounts nothing from %s (nfs_servers of its site file)" % server)
        name = volume(server, path)
        if os.path.basename(os.path.normpath(folder)) != name:
            raise VolumeError("the volume of %s:%s is called %s" % (server, path, name))
        with self.alone(name):
            if not is_mounted(folder):
                point = self.whole(name, "%s:%s" % (server, path))
                os.makedirs(folder, exist_ok=True)
                must(bounded(DETACH_S, ["mount", "-i", "-c", "--bind", point, folder]), MOUNT_S, self.run)
        return {}

    def whole(self, name, source):
        """Mount a folder once for all pods of this node, and see that it answers; return where."""
        point = "%s/%s" % (RUN, name)
        if not is_mounted(point):
            os.makedirs(point, mode=0o700, exist_ok=True)
            mount = ["mount", "-t", "nfs", "-o", OPTIONS, "--", source, point]
            must(bounded(MOUNT_S, mount), MOUNT_S + 10, self.run)
        if not self.answers(point):
            raise VolumeError("%s does not answer" % source)
        return point

    def answers(self, point):
        """Tell whether the server of a mounted folder answers."""
        return self.run(bounded(LOOK_S, ["stat", "--file-system", point]), LOOK_S + 10)[0] == 0

    def unmount(self, folder):
        """Take a folder from a pod, and from the node with its last pod; also where the server is dead."""
        name = os.path.basename(os.path.normpath(folder))
        point = "%s/%s" % (RUN, name)
        with self.alone(name):
            self.detach(folder)
            if not self.pods_folders(name):
                self.detach(point)
                if os.path.isdir(point):
                    os.rmdir(point)
        return {}

    def detach(self, path):
        """Take away all that is mounted at a path, without asking any server."""
        for _ in range(LAYERS):
            if not is_mounted(path):
                return
            must(bounded(DETACH_S, ["umount", "-i", "-c", "-l", path]), MOUNT_S, self.run)
        raise VolumeError("%s is still mounted" % path)

    @staticmethod
    def pods_folders(name):
        """Return the folders of pods that show a volume."""
        return [path for path, _ in mounts() if path.endswith("/" + name) and not path.startswith(RUN)]

    def hide(self, name):
        """Take a folder whose server is silent out of kubelet's sight; who has it open keeps it."""
        with self.alone(name):
            os.makedirs(AWAY, mode=0o700, exist_ok=True)
            for folder in set(self.pods_folders(name)):
                self.detach(folder)
                must(["mount", "-i", "-c", "--bind", AWAY, folder], MOUNT_S, self.run)
            self.detach("%s/%s" % (RUN, name))


class Watch:
    """Looks again and again whether the servers of what is mounted here answer."""

    def __init__(self, nfs, log=print):
        self.nfs, self.log, self.missed = nfs, log, {}

    def look(self):
        """Look once."""
        points = {os.path.basename(p): p for p, _ in mounts() if os.path.dirname(p) == RUN}
        there = {name: point for name, point in points.items() if NAME.fullmatch(name)}
        self.missed = {name: self.missed.get(name, 0) for name in there}
        for name, point in sorted(there.items()):
            try:
                self.missed[name] = 0 if self.nfs.answers(point) else self.missed[name] + 1
                if self.missed[name] >= MISSES:
                    self.log("%s does not answer: kubelet is not shown it any more" % name)
                    self.nfs.hide(name)
            except Exception as error:
                self.log("NFS %s: %s" % (name, error))

    def always(self):
        """Look for ever."""
        while True:
            try:
                self.look()
            except Exception as error:
                self.log("NFS: %s" % error)
            time.sleep(PERIOD_S)
