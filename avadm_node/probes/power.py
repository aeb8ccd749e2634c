# Runs on nodes: python 2.7 and 3.
"""Stops and starts this node's part of a site that is switched off on purpose, and reports what of it still runs.

Nothing here waits for a cluster: units are only asked to stop or start, and the controller looks again until they have.
"""

from __future__ import absolute_import, division, print_function

import fnmatch
import glob
import io
import os
import re
import subprocess

ASKED_S = 30  # seconds of a program that only reports
LONG_S = 120  # seconds of one that ends something
WANTED = ("/etc/systemd/system", "/run/systemd/system")  # below which links say what is enabled
RUNNING = ("active", "activating", "deactivating", "reloading")
CEPH = (
    "ceph",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.rbd",
    "fuse.rbd-fuse",
)  # kinds of file systems that need the cluster
PODS = "label=io.kubernetes.pod.name"  # of each container that a kubelet has started
GRACE_S = 30  # seconds that such a container has to end
OFF = "avadm-power-off"
SHOWN = 20


class PowerError(Exception):
    """A program did not do what it was asked; the text is for people."""


class Machine(object):
    """This node: its programs, and its files below a root.

    Args:
        root: "" on a node, another folder in tests.
    """

    def __init__(self, root=""):
        self.root = root

    def path(self, path):
        """Return where a path of the node is."""
        return self.root + path

    def read(self, path):
        """Return a file's text, "" where it cannot be read."""
        try:
            with io.open(self.path(path), encoding="utf-8", errors="replace") as source:
                return source.read()
        except (IOError, OSError):
            return ""

    def run(self, argv, seconds=ASKED_S):
        """Return (exit status, stdout, stderr); 127 where there is no such program, 124 where it took too long."""
        try:
            process = subprocess.Popen(
                ["timeout", "-k", "5", str(seconds)] + list(argv),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, LC_ALL="C"),
            )
        except OSError as error:
            return 127, "", error.strerror
        out, err = process.communicate()
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def must(self, argv, seconds=ASKED_S):
        """Return a program's output; PowerError where it fails."""
        rc, out, err = self.run(argv, seconds)
        if rc != 0:
            words = (err.strip() or out.strip()).split("\n")[-1] or "exit status %d" % rc
            raise PowerError("%s: %s" % (" ".join(argv[:2]), words[:300]))
        return out


def states(patterns, machine):
    """Return unit to its state (``active``, ``failed`` ...), of those that systemd knows and that match a pattern."""
    if not patterns:
        return {}
    argv = ["systemctl", "list-units", "--all", "--full", "--plain", "--no-legend", "--no-pager"]
    rows = [line.split() for line in machine.must(argv + list(patterns)).split("\n")]
    # The first word is a mark of systemd where a unit has failed, whatever --plain says.
    rows = [row[1:] if row and not re.search(r"\.[a-z]+$", row[0]) else row for row in rows]
    return dict((row[0], row[2]) for row in rows if len(row) > 2)


def enabled(patterns, machine):
    """Return the units that match a pattern and start with the machine, sorted."""
    found = set()
    for folder in WANTED:
        for kind in ("wants", "requires"):
            for link in glob.glob(machine.path("%s/*.%s/*" % (folder, kind))):
                found.add(os.path.basename(link))
    return sorted(name for name in found if any(fnmatch.fnmatchcase(name, p) for p in patterns))


def units(given, machine=None):
    """Stop or start units, without waiting for it; return what of them runs and what does not.

    Args:
        given: do (look, stop or start); units and ends, patterns: the latter are only looked at.

    Returns:
        mapping with running, unit to state; and missing, those that are enabled and not active. Or ``error``.
    """
    machine = machine or Machine()
    try:
        seen, wanted = states(given["units"], machine), enabled(given["units"], machine)
        if given["do"] == "stop":
            going = sorted(name for name, state in seen.items() if state in RUNNING)
            if going:
                machine.must(["systemctl", "stop", "--no-block"] + going)
        elif given["do"] == "start":
            lacking = [name for name in wanted if seen.get(name) not in RUNNING]
            if lacking:
                # Counted are all starts (ceph's units: 3 in 30 minutes), not only those that fail: it would be refused.
                machine.run(["systemctl", "reset-failed"] + lacking)
                machine.must(["systemctl", "start", "--no-block"] + lacking)
        if given["do"] != "look":
            seen = states(given["units"], machine)
        seen.update(states(given.get("ends") or [], machine))
    except PowerError as error:
        return {"error": "%s" % (error.args[0],)}
    running = dict((name, state) for name, state in seen.items() if state in RUNNING)
    return {"running": running, "missing": [n for n in wanted if seen.get(n) != "active"]}


def containers(given, machine=None):
    """Stop the containers of pods that a kubelet left, or only look at them.

    Args:
        given: do (look or stop).

    Returns:
        mapping with left, how many run; or ``error``. A node without docker has none.
    """
    machine = machine or Machine()
    try:
        found = _containers(machine)
        if found and given["do"] == "stop":
            machine.must(["docker", "stop", "--time", str(GRACE_S)] + found, GRACE_S * 2 + LONG_S)
            found = _containers(machine)
    except PowerError as error:
        return {"error": "%s" % (error.args[0],)}
    return {"left": len(found)}


def _containers(machine):
    argv = ["docker", "ps", "--quiet", "--no-trunc", "--filter", PODS]
    rc, out, err = machine.run(argv)
    if rc == 127 or "failed to run command" in err:
        return []
    if rc != 0:
        # With its daemon dead they run on: nothing is known then.
        raise PowerError("docker ps: %s" % ((err.strip() or out.strip()).split("\n")[-1][:300]))
    return out.split()


def storage(given, machine=None):
    """Unmount what needs ceph, and unmap its images; or only look. A mount in use is never taken away.

    Args:
        given: do (look or release); units: patterns of the units that mount, and mount, where these do, "" for nowhere;
            fsid: the cluster's, whose images alone are unmapped.

    Returns:
        mapping with mounts and mapped, what is left; holders, processes that use it; failed, why something could not be
        released. Or ``error``.
    """
    machine = machine or Machine()
    failed = []
    try:
        holders = _holders(machine)
        if given["do"] == "release" and not holders:
            own = [name for name, state in states(given["units"], machine).items() if state in RUNNING]
            # What is mounted last is unmounted first: binds of pods lie above what they show.
            for point, _, _ in reversed(_mounts(machine)):
                if not own or point != given["mount"]:
                    failed += _tried(machine, ["umount", point])
            if own:
                failed += _tried(machine, ["systemctl", "stop"] + own)
                if given["mount"] in [point for point, _, _ in _mounts(machine)]:
                    failed += _tried(machine, ["umount", given["mount"]])
            for device in _mapped(machine, given["fsid"]):
                failed += _tried(machine, ["rbd", "unmap", device])
            holders = _holders(machine)
        return {
            "mounts": [point for point, _, _ in _mounts(machine)][:SHOWN],
            "mapped": _mapped(machine, given["fsid"])[:SHOWN],
            "holders": holders[:SHOWN],
            "failed": failed[:SHOWN],
        }
    except PowerError as error:
        return {"error": "%s" % (error.args[0],)}


def _tried(machine, argv):
    """Run a program; return why it failed, a list of one or none."""
    rc, out, err = machine.run(argv, LONG_S)
    return [] if rc == 0 else ["%s: %s" % (" ".join(argv), (err.strip() or out.strip())[-200:] or rc)]


def _mounts(machine, process="self"):
    """Return (mount point, kind, source) of what needs ceph, in the order in which it was mounted."""
    found = []
    for line in machine.read("/proc/%s/mountinfo" % process).split("\n"):
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) < 5 or len(rest) < 2:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), fields[4])
        if rest[0] in CEPH or rest[1].startswith("/dev/rbd") or _of_image(machine, rest[1]):
            found.append((point, rest[0], rest[1]))
    return found


def _of_image(machine, source):
    """Return whether a loop device is a file of rbd-fuse."""
    name = source.rpartition("/")[2]
    if not re.match(r"loop\d+$", name):
        return False
    return ".image/" in machine.read("/sys/block/%s/loop/backing_file" % name)


def _holders(machine):
    """Return the processes that use such a mount, or keep one in a mount namespace of their own, in words."""
    points = sorted(set(point for point, _, _ in _mounts(machine)))
    found, own, seen = [], _link(machine, "/proc/self/ns/mnt"), set()
    for pid in sorted(int(p) for p in os.listdir(machine.path("/proc")) if p.isdigit()):
        if pid == os.getpid():
            continue
        name = machine.read("/proc/%d/comm" % pid).strip() or "?"
        links = ["/proc/%d/%s" % (pid, link) for link in ("cwd", "root", "exe")]
        links += [link[len(machine.root) :] for link in glob.glob(machine.path("/proc/%d/fd/*" % pid))]
        used = [_link(machine, link) for link in links]
        space = _link(machine, "/proc/%d/ns/mnt" % pid)
        for point in points:
            if space == own and any(
                path == point or path.startswith(point.rstrip("/") + "/") for path in used
            ):
                found.append("%s (process %d) uses %s" % (name, pid, point))
                break
        if space and space != own and space not in seen:
            seen.add(space)
            # What is unmounted here is unmounted there too, unless that namespace hears nothing of it.
            deaf = [point for point, _, _ in _mounts(machine, str(pid)) if point not in points]
            if deaf:
                found.append("%s (process %d) has %s in a mount namespace of its own" % (name, pid, deaf[0]))
    return found


def _link(machine, path):
    """Return what a link says, "" where there is none; as text in Python 2 too, since names of files may be anything."""
    try:
        found = os.readlink(machine.path(path))
    except OSError:
        return ""
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else found


def _mapped(machine, fsid):
    """Return the block devices of images of this cluster; those of other clusters are others' business."""
    found = []
    for folder in sorted(glob.glob(machine.path("/sys/bus/rbd/devices/*"))):
        number = os.path.basename(folder)
        if machine.read("/sys/bus/rbd/devices/%s/cluster_fsid" % number).strip() == fsid:
            found.append("/dev/rbd" + number)
    return found


def identity(given, machine=None):
    """Report whether the controller runs on this machine.

    Args:
        given: marker, a file that the controller has just made; boot, the id of the controller's boot.

    Returns:
        mapping with ours, whether it does, or shares the kernel of a machine that is no container.
    """
    machine = machine or Machine()
    shares = machine.read("/proc/sys/kernel/random/boot_id").strip() == given["boot"]
    rc, _, _ = machine.run(["systemd-detect-virt", "--quiet", "--container"])
    return {"ours": os.path.exists(machine.path(given["marker"])) or (shares and rc != 0)}


def off(given, machine=None):
    """Have the machine switched off some seconds from now, so that the reply is heard; a second time changes nothing.

    Args:
        given: seconds.

    Returns:
        mapping with ``off``; or ``error``.
    """
    machine = machine or Machine()
    rc, _, _ = machine.run(["systemctl", "is-active", "--quiet", OFF + ".timer"])
    if rc == 0:
        return {"off": True}
    machine.run(["systemctl", "reset-failed", OFF + ".service"])
    argv = ["systemd-run", "--quiet", "--unit", OFF, "--on-active=%d" % given["seconds"]]
    try:
        machine.must(argv + ["systemctl", "poweroff"])
    except PowerError as error:
        return {"error": "%s" % (error.args[0],)}
    return {"off": True}


def fsid(_, machine=None):
    """Return the id of the cluster that this node's ceph.conf names: mapping with fsid, "" where it names none."""
    text = (machine or Machine()).read("/etc/ceph/ceph.conf")
    found = re.search(r"(?m)^\s*fsid\s*=\s*([0-9a-f-]{36})\s*$", text)
    return {"fsid": found.group(1) if found else ""}
