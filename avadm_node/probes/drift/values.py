"""The present value of each item that avadm keeps on a node.

The salt keeps stored values from telling anything about secrets. A value that begins with ``!`` is wrong in itself (a stopped
unit), whatever was recorded before.
"""

from __future__ import absolute_import

import glob
import grp
import hashlib
import hmac
import json
import os
import pwd
import re
import stat
import struct
import time

from ... import admin_socket
from .cluster import NEEDS, Cluster, ObjectStore, answers, call
from .containers import Containers

UNIT = "LoadState,ActiveState,UnitFileState,NeedDaemonReload,ExecMainStartTimestampMonotonic,MainPID"
UNIT += ",ActiveEnterTimestampMonotonic"


def name_of(table, number):
    try:
        return table(number)[0]
    except KeyError:
        return str(number)


def full(name):
    """Return a unit's whole name, as avadm_daemon makes it."""
    return name if name.endswith((".service", ".timer")) else name + ".service"


class Node(ObjectStore, Containers):
    """This node; each method named as a kind returns the value of one item of that kind."""

    def __init__(self, salt, items):
        self.salt = salt.encode()
        words = [item.split(" ") for item in items]
        self.units = self.show(
            sorted(set(w[1] for w in words if w[0] in ("unit", "restart", "reload", "stopped")))
        )
        self.versions = self.installed() if any(w[0] == "package" for w in words) else {}
        self.running = self.settings() if any(w[0] == "setting" for w in words) else []

    def secret(self, data):
        return hmac.new(self.salt, data, hashlib.sha256).hexdigest()[:32]

    def file(self, path):
        try:
            state = os.lstat(path)
        except OSError:
            return "!absent"
        owner = "%s:%s" % (name_of(pwd.getpwuid, state.st_uid), name_of(grp.getgrgid, state.st_gid))
        if stat.S_ISLNK(state.st_mode):
            return "link %s %s" % (os.readlink(path), owner)
        if stat.S_ISDIR(state.st_mode):
            what = "folder"
        elif stat.S_ISREG(state.st_mode):
            with open(path, "rb") as source:
                what = self.secret(source.read())
        else:
            what = "special"
        return "%s %04o %s" % (what, stat.S_IMODE(state.st_mode), owner)

    def login(self, name):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            return "!absent"
        return "%s %s %s" % (name_of(grp.getgrgid, entry.pw_gid), entry.pw_dir, entry.pw_shell)

    def absent(self, path):
        return "!there" if os.path.lexists(path) else "absent"

    def show(self, names):
        if not names:
            return {}
        out = call("systemctl", "show", "-p" + UNIT, *[full(name) for name in names])
        blocks = [
            dict(line.split("=", 1) for line in b.split("\n") if "=" in line) for b in out.split("\n\n")
        ]
        return dict(zip(names, [b for b in blocks if b]))  # noqa: B905 - python 2.7

    def unit(self, name):
        unit = self.units[name]
        value = "%s %s" % (unit.get("ActiveState"), unit.get("UnitFileState") or unit.get("LoadState"))
        wrong = unit.get("ActiveState") not in ("active", "activating", "reloading")
        wrong = wrong or unit.get("UnitFileState") not in ("enabled", "static")
        if unit.get("NeedDaemonReload") == "yes":
            wrong, value = True, value + ", its file changed after systemd read it"
        try:
            if os.readlink("/proc/%s/exe" % unit.get("MainPID")).endswith(" (deleted)"):
                wrong, value = True, value + ", its program was replaced after it was started"
        except OSError:
            pass
        return ("!" if wrong else "") + value

    def stopped(self, name):
        return "!runs" if self.units[name].get("ActiveState") not in ("inactive", "failed") else "stopped"

    def restart(self, rest, reload=False):
        """As avadm_daemon judges: whether a file (or a folder's entry) is newer than what runs."""
        name, _, path = rest.partition(" ")
        unit = self.units[name]
        since = int(unit.get("ExecMainStartTimestampMonotonic") or 0)  # a timer has none
        since = (since or int(unit.get("ActiveEnterTimestampMonotonic") or 0)) / 1e6
        since += time.time() - monotonic()
        stamp = "/run/avadm/daemon/" + name
        if reload and os.path.exists(stamp):
            since = max(since, os.stat(stamp).st_mtime)
        paths = [path] + ([os.path.join(path, e) for e in os.listdir(path)] if os.path.isdir(path) else [])
        states = [os.stat(p) for p in paths if os.path.exists(p)]
        newest = max([max(s.st_mtime, s.st_ctime) for s in states] or [0])
        return "!newer than what runs" if newest > since else "read"

    def reload(self, rest):
        return self.restart(rest, True)

    def installed(self):
        query = "${db:Status-Abbrev}\\t${Package}\\t${Architecture}\\t${Version}\\t${Provides}\\n"
        found, provided = {}, {}
        for line in call("dpkg-query", "-W", "-f", query).splitlines():
            status, name, arch, version, provides = (line.split("\t") + [""] * 4)[:5]
            if status.strip()[1:] != "i":
                continue
            found[name] = found["%s:%s" % (name, arch)] = version
            for entry in provides.split(","):
                if entry.strip():
                    provided[entry.split()[0]] = "%s %s" % (name, version)
        provided.update(found)
        return provided

    def package(self, name):
        return self.versions.get(name.partition("=")[0], "!not installed")

    def sysctl(self, name):
        path = "/proc/sys/" + name.replace(".", "/")
        if not os.path.exists(path):
            return "not in this kernel"  # avadm_sysctl passes over it too
        with open(path) as source:
            return " ".join(source.read().split())

    def kmod(self, name):
        """Whether a module of the kernel is loaded or built in, as avadm_kernel_modules judges."""
        name = name.replace("-", "_")
        path = "/lib/modules/%s/modules.builtin" % os.uname()[2]
        built = open(path).read().replace("-", "_") if os.path.exists(path) else ""
        return "there" if os.path.isdir("/sys/module/" + name) or "/%s.ko" % name in built else "!not loaded"

    def filter(self, program):
        """Whether the kernel has the rules that were kept."""
        reply = json.loads(call(program, "status"))
        return (
            "as kept"
            if reply["same"]
            else "!not the rules that were kept"
            if reply["loaded"]
            else "!no rules"
        )

    def swap(self, _):
        used = [line.split()[0] for line in open("/proc/swaps").read().splitlines()[1:]]
        return "!" + ", ".join(used) if used else "off"

    def mount(self, path):
        return call("timeout", "10", "stat", "--file-system", "--format=%T", path).strip()

    def alternative(self, name):
        head = call("update-alternatives", "--query", name).split("\n\n")[0]
        found = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
        return "%s %s" % (found["Value"], found["Status"])

    def mon(self, name):
        store = "/var/lib/ceph/mon/ceph-%s/" % name
        return "store" if os.path.isdir(store + "store.db") else "!no store"

    def founded(self, rest):
        """The mark outside the data's folder (plugins/module_utils/avadm_bootstrap_mark.py)."""
        with open("/var/lib/avadm/founded/%s.json" % rest.split(" ")[0]) as source:
            return str(json.load(source)["identity"])

    def osds(self, _):
        found = []
        for folder in sorted(glob.glob("/var/lib/ceph/osd/ceph-*")):
            number = folder.rpartition("-")[2]
            fsid = open(folder + "/fsid").read().strip() if os.path.exists(folder + "/fsid") else "no fsid"
            block = os.readlink(folder + "/block") if os.path.islink(folder + "/block") else "no block"
            unit = self.show(["ceph-osd@" + number])["ceph-osd@" + number].get("ActiveState")
            found.append("osd.%s %s %s %s" % (number, fsid, block, unit))
        return ("!" if any(not one.endswith(" active") for one in found) else "") + "; ".join(found)

    def settings(self):
        """Return (kind, name, options) of each ceph daemon that runs here."""
        found = []
        for path in sorted(glob.glob("/var/run/ceph/*.asok")):
            match = re.match(r"ceph-(mon|mgr|osd|mds)\.(.+)\.asok$", os.path.basename(path))
            if not match:
                continue
            try:
                found.append(match.groups() + (admin_socket.query(path, "config show", 10),))
            except (OSError, IOError, ValueError, struct.error):
                continue  # left behind by a daemon that is gone
        return found

    def setting(self, rest):
        section, option = rest.split(" ", 1)
        option = option.strip().replace(" ", "_")
        chosen = [o for kind, name, o in self.running if section in ("global", kind, "%s.%s" % (kind, name))]
        return ", ".join(sorted(set(str(o[option]) for o in chosen if option in o)))


def monotonic():
    """Seconds of CLOCK_MONOTONIC, the clock of systemd's timestamps, also under python 2.7."""
    if hasattr(time, "monotonic"):
        return time.monotonic()
    import ctypes

    class Timespec(ctypes.Structure):
        _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]

    now = Timespec()
    ctypes.CDLL(None).clock_gettime(1, ctypes.byref(now))
    return now.sec + now.nsec / 1e9


def values(params):
    """Return each item's value; what cannot be determined says why."""
    found = {}
    items = [item.split(" ", 1) for item in params["items"]]
    wanted = set(name for item in items for name in NEEDS.get(item[0], ()))
    try:
        node = Node(params["salt"], params["items"])
        trouble = None
        cluster = Cluster(answers(sorted(wanted)) if wanted else {}, node.secret)
    except Exception as error:
        trouble = "!unknown: %s: %s" % (type(error).__name__, error)
    for item in items:
        name = " ".join(item)
        try:
            kind = item[0]
            source = None if trouble else cluster if kind in NEEDS else node
            found[name] = trouble or getattr(source, kind)(item[1] if len(item) > 1 else "")
        except Exception as error:
            found[name] = "!unknown: %s: %s" % (type(error).__name__, error)
    return found
