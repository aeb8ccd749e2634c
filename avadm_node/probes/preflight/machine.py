"""The machine itself: system, memory, disks, space, names, who listens."""

from __future__ import absolute_import

import glob
import os
import re

from .system import read, slurp


def release():
    """Distribution, its release and the kernel."""
    values = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', read("/etc/os-release"), re.M))
    return {
        "id": values.get("ID", ""),
        "release": values.get("VERSION_ID", ""),
        "name": values.get("PRETTY_NAME", ""),
        "kernel": os.uname()[2],
        "machine": os.uname()[4],
    }


def boot():
    """The controllers of cgroup v1, and whether the module nouveau is loaded: both follow from how the kernel was booted."""
    mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
    options = [option for m in mounts if len(m) > 3 and m[2] == "cgroup" for option in m[3].split(",")]
    enabled = re.findall(r"^(\w+)\t\d+\t\d+\t1$", read("/proc/cgroups"), re.M)
    modules = slurp("/proc/modules") or ""
    return {
        "controllers": sorted(set(options) & set(enabled)),
        "nouveau": any(line.startswith("nouveau ") for line in modules.splitlines()),
    }


def addresses():
    """IPv4 addresses of this machine, from the kernel's own table (ip(8) may not be installed yet)."""
    found = re.findall(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s+/32 host LOCAL", read("/proc/net/fib_trie"))
    return sorted(set(found))


def drives():
    """Disks of this machine: name, GiB, whether they spin (null: not told)."""
    found = []
    for name in sorted(os.listdir("/sys/block")):
        base = "/sys/block/%s/" % name
        if re.match(r"(loop|ram|zram|dm-|md|sr|fd|nbd|rbd)", name) or slurp(base + "removable") == "1":
            continue
        turning = slurp(base + "queue/rotational")
        gib = int(slurp(base + "size") or 0) // 2**21
        found.append({"name": name, "gib": gib, "rotational": None if turning is None else turning == "1"})
    return found


def memory():
    """MiB of memory in all, and of it available."""
    found = dict(re.findall(r"^(MemTotal|MemAvailable):\s+(\d+)", read("/proc/meminfo"), re.M))
    return {"total_mib": int(found["MemTotal"]) // 1024, "available_mib": int(found["MemAvailable"]) // 1024}


def swap():
    """Swap space in use: what it is, its size and what of it is used, MiB."""
    lines = [line.split() for line in read("/proc/swaps").splitlines()[1:]]
    return [{"name": w[0], "mib": int(w[2]) // 1024, "used_mib": int(w[3]) // 1024} for w in lines if w]


def space():
    """MiB free for root on the file systems that we write to."""
    free = {}
    for path in ("/", "/var/lib", "/tmp"):
        if os.path.isdir(path):
            state = os.statvfs(path)
            free[path] = state.f_bavail * state.f_frsize // 2**20
    return free


def inodes():
    """Inodes free for root on the same file systems; None where a file system has no fixed number."""
    free = {}
    for path in space():
        state = os.statvfs(path)
        free[path] = state.f_favail if state.f_files else None
    return free


def hosts():
    """Name to addresses, as /etc/hosts has it."""
    names = {}
    for line in read("/etc/hosts").splitlines():
        words = line.split("#")[0].split()
        for name in words[1:]:
            names.setdefault(name, []).append(words[0])
    return names


def listening(ports):
    """Port to the names of the programs that listen on it, for these TCP ports."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            for line in read(table).splitlines()[1:]:
                words = line.split()
                address, _, port = words[1].rpartition(":")
                port = int(port, 16)
                # A node's own name service on loopback (127.0.0.53) is in nobody's way.
                if words[3] == "0A" and port in ports and not (port == 53 and address.endswith("7F")):
                    sockets["socket:[%s]" % words[9]] = port
    found = dict((str(port), []) for port in sockets.values())
    for link in glob.glob("/proc/[0-9]*/fd/*") if sockets else []:
        try:
            port = sockets.get(os.readlink(link))
            if port is not None:
                found[str(port)].append(read("/proc/%s/comm" % link.split("/")[2]).strip())
        except (OSError, IOError):
            pass  # the process ended meanwhile
    return dict((port, sorted(set(names))) for port, names in found.items())
