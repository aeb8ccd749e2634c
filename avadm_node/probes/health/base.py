"""What the doctor asks of every machine."""

from __future__ import absolute_import

import base64
import calendar
import ctypes
import glob
import os
import re
import time

from .system import LONG_LINE, SHORT, Failed, call, must, slurp

LINES = 30000  # of the journal
DISKS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "overlay", "f2fs")
# Pods' and containers' own: their space is their owner's, their layers are the engine's folder.
NOT_OURS = re.compile(r"^/(var/lib/(docker|kubelet|containerd)/.|run/docker|snap/|run/avadm)")


def units(_):
    """Unit to its state, of services that are enabled, have failed or are on their way."""
    wanted = "Id,ActiveState,SubState,UnitFileState,Type,ConditionResult,Result,NRestarts,ActiveEnterTimestampMonotonic"
    out = must(["systemctl", "show", "*.service", "*.timer", "--no-pager", "-p", wanted])
    found = {}
    for block in out.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        name = fields.get("Id")
        if not name:
            continue
        enabled = fields.get("UnitFileState", "").startswith("enabled")
        if enabled or fields.get("ActiveState") in ("failed", "activating", "deactivating"):
            found[name] = {
                "active": fields.get("ActiveState", ""),
                "sub": fields.get("SubState", ""),
                "enabled": enabled,
                "type": fields.get("Type", ""),
                "condition": fields.get("ConditionResult", "yes") == "yes",
                "result": fields.get("Result", ""),
                "restarts": int((re.findall(r"\d+", fields.get("NRestarts", "")) or ["0"])[0]),
            }
    return found


def mounts(_):
    """File systems on disks: mount point, device, whether read-only, MiB, what is free of space and inodes in percent."""
    found, seen = [], set()
    for line in (slurp("/proc/self/mounts") or "").strip("\n").split("\n"):
        if not line:
            continue
        device, point, kind, options = line.split(" ")[:4]
        point = point.replace("\\040", " ")
        if (kind not in DISKS and point != "/run") or NOT_OURS.match(point) or point.startswith("/etc/"):
            continue
        try:
            state, number = os.statvfs(point), os.stat(point).st_dev
        except OSError:
            continue
        if number in seen or not state.f_blocks:
            continue
        seen.add(number)
        found.append(
            {
                "point": point,
                "device": device,
                "read_only": "ro" in options.split(","),
                "total_mib": state.f_blocks * state.f_frsize // 2**20,
                # What root may not use is not free to pods: as df counts.
                "free_percent": round(
                    100.0 * state.f_bavail / max(1, state.f_blocks - state.f_bfree + state.f_bavail), 1
                ),
                "free_mib": state.f_bavail * state.f_frsize // 2**20,
                "inodes_percent": round(100.0 * state.f_favail / state.f_files, 1) if state.f_files else None,
            }
        )
    return found


def memory(_):
    """MiB of memory in all and to be had, of swap in all and free."""
    numbers = dict(re.findall(r"^(\w+):\s+(\d+)", slurp("/proc/meminfo") or "", re.M))
    names = {"total": "MemTotal", "available": "MemAvailable", "swap": "SwapTotal", "swap_free": "SwapFree"}
    return dict((key, int(numbers.get(name, 0)) // 1024) for key, name in names.items())


def addresses(_):
    """IPv4 addresses of this machine, from the kernel's own table."""
    text = slurp("/proc/net/fib_trie")
    if text is None:
        raise Failed("/proc/net/fib_trie cannot be read")
    return sorted(set(re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", text)))


def kernel(_):
    """Kernel's version, whether another inotify instance is available, how many are in use, files that may be open."""
    library = ctypes.CDLL(None, use_errno=True)
    handle = library.inotify_init()
    reason = "" if handle >= 0 else os.strerror(ctypes.get_errno())
    if handle >= 0:
        os.close(handle)
    used = 0
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            # The limit is each user's own; root's services are what matters.
            used += os.readlink(link) in ("anon_inode:inotify", "inotify") and os.lstat(link).st_uid == 0
        except OSError:
            pass
    opened = (slurp("/proc/sys/fs/file-nr") or "0 0 1").split()
    return {
        "release": os.uname()[2],
        "inotify": {
            "refused": reason,
            "used": used,
            "instances": int(slurp("/proc/sys/fs/inotify/max_user_instances") or 0),
            "watches": int(slurp("/proc/sys/fs/inotify/max_user_watches") or 0),
        },
        "files": {"open": int(opened[0]), "most": int(opened[2])},
    }


def table(text):
    """Return the mounts of a mountinfo file (proc(5)): device, root, mount point, propagation fields."""
    found = []
    for line in text.split("\n"):
        fields = line.partition(" - ")[0].split()
        if len(fields) >= 6:
            found.append((fields[2], fields[3], fields[4], fields[6:]))
    return found


def private_mounts(_):
    """Processes that hold the host's root in a mount namespace of their own without hearing of its unmounts (K1)."""
    own = os.readlink("/proc/1/ns/mnt")
    roots = [m for m in table(slurp("/proc/1/mountinfo") or "") if m[2] == "/"]
    if not roots:
        raise Failed("/proc/1/mountinfo names no root")
    device, folder, _, tags = roots[-1]
    shared = any(t.startswith("shared:") for t in tags)
    found, seen = [], set([own])
    for pid in sorted((int(p) for p in os.listdir("/proc") if p.isdigit())):
        try:
            space = os.readlink("/proc/%d/ns/mnt" % pid)
        except OSError:
            continue
        if space in seen:
            continue
        seen.add(space)
        for m in table(slurp("/proc/%d/mountinfo" % pid) or ""):
            hears = any(t.startswith(("master:", "shared:")) for t in m[3])
            # Where the host shares nothing, a service's own root cannot hear either; a bind of it elsewhere is a copy.
            if m[:2] == (device, folder) and not hears and (m[2] != "/" or shared):
                name = (slurp("/proc/%d/comm" % pid) or "").strip()
                found.append({"pid": pid, "command": name, "point": m[2]})
    return found


def certificates(params):
    """Path to when a certificate's life begins and ends, epoch seconds; to text where it cannot be read."""
    found = {}
    for path in sorted(p for pattern in params["certificates"] for p in glob.glob(pattern)):
        text = slurp(path) or ""
        if path.endswith("config"):
            inside = re.search(r"client-certificate-data: *(\S+)", text)
            text = base64.b64decode(inside.group(1)).decode("ascii", "replace") if inside else ""
        argv = ["openssl", "x509", "-noout", "-startdate", "-enddate"]
        code, out, err = call(argv, SHORT, text.encode("utf-8"))
        if code in (137, -9):
            raise Failed("openssl: %s (killed after %d s)" % (path, SHORT))
        dates = re.findall(r"=(\w{3} +\d+ [\d:]+ \d{4}) GMT", out)
        if code != 0 or len(dates) != 2:
            found[path] = "no certificate: %s" % (err.strip().splitlines() or ["?"])[0][:LONG_LINE]
            continue
        found[path] = [calendar.timegm(time.strptime(d, "%b %d %H:%M:%S %Y")) for d in dates]
    return found


def journal(params):
    """Known trouble to how often the journal tells of it in the last minutes, and its last line."""
    argv = ["journalctl", "-q", "--no-pager", "-o", "short-iso", "-n", str(LINES)]
    out = must(argv + ["--since=@%d" % (time.time() - params["window"])], 30)
    found = {}
    known = [(name, re.compile(pattern, re.I)) for name, pattern in sorted(params["patterns"].items())]
    # The command lines of sudo and this very probe is no trouble, though it may name one.
    report = re.compile(r"^\S+ \S+ (sudo|sshd|python\S*|ansible\S*)(\[\d+\])?:")
    for line in out.split("\n"):
        for name, pattern in known:
            if pattern.search(line) and not report.match(line):
                row = found.setdefault(name, {"count": 0, "last": "", "age_s": 0})
                row["count"] += 1
                row["last"] = line[:LONG_LINE]
                break
    for row in found.values():
        row["age_s"] = int(
            time.time() - calendar.timegm(time.strptime(row["last"][:19], "%Y-%m-%dT%H:%M:%S"))
        )
    return found


def ports(params):
    """TCP ports, of those asked for, on which nothing listens."""
    heard = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (slurp(name) or "").split("\n")[1:]:
            words = line.split()
            if words[3:4] == ["0A"]:
                heard.add(int(words[1].rpartition(":")[2], 16))
    return [port for port in params["ports"] if port not in heard]
