# Runs on nodes: python 2.7 and 3.
"""What the disk probes ask of a machine: device numbers, sysfs, udev, /proc, exclusive opens, commands.

Nothing here judges, and nothing here writes. Tests replace the few methods that need real block devices.
"""

from __future__ import absolute_import, division, print_function

import array
import errno
import fcntl
import glob
import io
import os
import stat

BLKROGET = 0x125E  # linux/fs.h
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESRCH, errno.ENXIO)


class Machine(object):
    """The machine that the module runs on.

    Args:
        run: callable(argv) -> (rc, stdout, stderr).
        root: prefix of /sys, /proc, /dev and /run, for tests.
    """

    def __init__(self, run, root=""):
        self.run = run
        self.root = root

    def path(self, path):
        """Return where a path of the machine lies."""
        return self.root + path

    def number(self, path):
        """Return "MAJOR:MINOR" of a block device's node; None for anything else. Raises OSError."""
        found = os.stat(path)
        if not stat.S_ISBLK(found.st_mode):
            return None
        return "%d:%d" % (os.major(found.st_rdev), os.minor(found.st_rdev))

    def read_only(self, handle):
        """Return whether the kernel refuses writes to an open block device."""
        answer = array.array("i", [0])
        fcntl.ioctl(handle, BLKROGET, answer)
        return bool(answer[0])

    def open(self, path, flags):
        """Open a device; O_EXCL claims it in the whole kernel, against mounts in any namespace."""
        return os.open(path, flags)

    def text(self, path):
        """Return a small file's text, stripped; None where there is no such file."""
        try:
            with io.open(self.path(path), encoding="utf-8", errors="replace") as stream:
                return stream.read().strip()
        except (IOError, OSError) as error:
            if error.errno in GONE:
                return None
            raise

    def entries(self, path):
        """Return the names in a folder, sorted; OSError where it cannot be read."""
        return sorted(os.listdir(self.path(path)))

    def serial(self, number):
        """Return the serial number that people read on the disk; None where it tells none."""
        base, udev = "/sys/dev/block/%s" % number, self.udev(number)
        known = [udev.get("ID_SERIAL_SHORT"), udev.get("ID_SCSI_SERIAL")]
        known += [self.text(base + "/serial"), self.text(base + "/device/serial"), udev.get("ID_SERIAL")]
        return next((" ".join(one.split()) for one in known if one and one.split()), None)

    def wwn(self, number):
        """Return a disk's world-wide name; None where it tells none."""
        base, udev = "/sys/dev/block/%s" % number, self.udev(number)
        known = [udev.get("ID_WWN_WITH_EXTENSION"), udev.get("ID_WWN")]
        return next((k for k in known + [self.text(base + r) for r in ("/wwid", "/device/wwid")] if k), None)

    def entries_if_any(self, path):
        """Return the names in a folder, sorted; none where there is no such folder."""
        try:
            return self.entries(path)
        except OSError as error:
            if error.errno in GONE:
                return []
            raise

    def loops_on(self, numbers):
        """Yield the names of loop devices that lie on one of the devices: the kernel tells of them nowhere else."""
        for folder in sorted(glob.glob(self.path("/sys/class/block/loop*"))):
            name = os.path.basename(folder)
            backing = self.text("/sys/class/block/%s/loop/backing_file" % name)
            if not backing or not backing.startswith("/dev/"):
                continue
            try:
                found = self.number(self.path(backing))
            except OSError as error:
                if error.errno not in GONE:
                    raise
                # A node of another container's /dev: the kernel's own name is all there is to compare.
                found = self.text("/sys/class/block/%s/dev" % os.path.basename(backing))
            if found in numbers:
                yield name

    def disks(self):
        """Return {"MAJOR:MINOR": kernel name} of all whole disks that sysfs knows."""
        found = {}
        for folder in glob.glob(self.path("/sys/class/block/*")):
            name = os.path.basename(folder)
            number = self.text("/sys/class/block/%s/dev" % name)
            if number and self.text("/sys/class/block/%s/partition" % name) is None:
                found[number] = name
        return found

    def udev(self, number):
        """Return what udev knows of a device: its properties, and "links", the names under /dev."""
        found = {"links": []}
        for line in (self.text("/run/udev/data/b" + number) or "").split("\n"):
            kind, _colon, rest = line.partition(":")
            if kind == "E" and "=" in rest:
                key, _equals, value = rest.partition("=")
                found[key] = value
            elif kind == "S":
                found["links"].append("/dev/" + rest)
        return found

    def identity(self, number):
        """Return the serial numbers and world-wide names that the device itself is known by, as a set."""
        base = "/sys/dev/block/" + number
        known = [self.text(base + rest) for rest in ("/serial", "/device/serial", "/wwid", "/device/wwid")]
        udev = self.udev(number)
        keys = ("ID_SERIAL", "ID_SERIAL_SHORT", "ID_SCSI_SERIAL", "ID_WWN", "ID_WWN_WITH_EXTENSION")
        known += [udev.get(key) for key in keys]
        return {" ".join(k.split()) for k in known if k and k.split()}

    def twins(self, number):
        """Return the numbers of other whole disks that say the same of themselves: other paths to the same disk.

        Namespaces of one NVMe controller share its serial, but not their world-wide names.
        """
        base = "/sys/dev/block/%s"
        mine, found = self.identity(number), []
        for other in self.disks():
            theirs = self.identity(other)
            same = mine & theirs
            if other == number or not same or self.entries_if_any(base % other + "/slaves"):
                continue
            unique = [
                self.text(base % n + rest) for n in (number, other) for rest in ("/wwid", "/device/wwid")
            ]
            names = {u for u in unique if u}
            if len(names) < 2:
                found.append(other)
        return sorted(found)

    def links(self):
        """Return {path: "MAJOR:MINOR"} of what lies under /dev/disk/by-id."""
        found = {}
        for path in sorted(glob.glob(self.path("/dev/disk/by-id/*"))):
            try:
                found[path[len(self.root) :]] = self.number(path)
            except OSError:
                found[path[len(self.root) :]] = None
        return found

    def processes(self):
        """Return the numbers of all processes that this namespace shows."""
        return [name for name in self.entries("/proc") if name.isdigit()]

    def mounts(self):
        """Yield (process, "MAJOR:MINOR", mount point, source) of every mount namespace that can be seen."""
        seen = set()
        for process in self.processes():
            try:
                namespace = os.readlink(self.path("/proc/%s/ns/mnt" % process))
            except OSError as error:
                if error.errno in GONE:
                    continue
                raise
            if namespace in seen:
                continue
            table = self.text("/proc/%s/mountinfo" % process)
            if table is None:
                continue
            seen.add(namespace)
            for line in filter(None, table.split("\n")):
                fields = line.split()
                rest = fields[fields.index("-") + 1 :]
                yield process, fields[2], fields[4], rest[1] if len(rest) > 1 else ""

    def openers(self, numbers):
        """Yield "command (pid N)" of each process that holds one of the devices open, under whatever name.

        Raises OSError where a process that still runs cannot be looked at.
        """
        for process in self.processes():
            if int(process) != os.getpid() and self.holds(process, numbers):
                yield "%s (pid %s)" % (self.text("/proc/%s/comm" % process), process)

    def holds(self, process, numbers):
        """Return whether a process has one of the devices open; False for one that is gone."""
        folder = self.path("/proc/%s/fd" % process)
        try:
            names = os.listdir(folder)
        except OSError as error:
            if error.errno in GONE:
                return False
            raise
        for name in names:
            handle = os.path.join(folder, name)
            try:
                # A container may have the device's node anywhere, e.g. at /data/disk0; sockets and pipes have no path.
                if os.readlink(handle).startswith("/") and self.number(handle) in numbers:
                    return True
            except OSError as error:
                if error.errno not in GONE:
                    raise
        return False
