"""Tries attacks and says of each whether it got through; runs in a tenant's container, and as the control where it must succeed.

Python's standard library alone, any version from 3.5 on: the container's, and the node's own. Standard output: one line of
JSON per attack: ``{"id": …, "open": true|false, "said": …}``. Nothing is changed: files are opened and not written. Each attack
is a process of its own, so that what one does to itself (a namespace) is nothing to the next, and none holds up the others; most
wait for what never answers, so many are tried at once.
"""

import base64
import ctypes
import errno
import glob
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import zlib

SECONDS = 2.0
KILLED_S = 20
"""So long an attack has, seconds: it may start late on a busy node. One that was killed shows nothing."""
AT_ONCE = 32
libc = ctypes.CDLL(None, use_errno=True)


class Shut(Exception):
    """The attack did not get through."""


def connect(host, port):
    """Open a TCP connection."""
    with socket.create_connection((host, int(port)), SECONDS):
        return "connected"


def ping(host):
    """Have an answer to an ICMP echo, by a raw or an unprivileged socket."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            link = socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP)
        except OSError:
            continue
        with link:
            link.settimeout(SECONDS)
            link.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", (host, 0))
            link.recvfrom(2048)
            return "answered"
    raise Shut("no socket for ICMP")


def unix(path):
    """Connect to a Unix socket; ``@name`` is an abstract one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        link.connect("\0" + path[1:] if path.startswith("@") else path)
    return "connected"


def raw():
    """Listen to all packets of the network interface."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)):
        return "listens"


def read(*patterns):
    """Read a file, the first of those that match."""
    found = [path for pattern in patterns for path in glob.glob(pattern)]
    for path in found:
        try:
            with open(path, "rb") as file:
                file.read(64)
            return path
        except OSError:
            continue
    raise Shut("%d paths, none readable" % len(found))


def write(*patterns):
    """Be allowed to write a file; nothing is written."""
    found = [path for pattern in patterns for path in glob.glob(pattern)]
    may = [path for path in found if os.access(path, os.W_OK)]
    if not may:
        raise Shut("%d paths, none writable" % len(found))
    return may[0]


def see(*patterns):
    """See that something is there."""
    found = [path for pattern in patterns for path in glob.glob(pattern)]
    if not found:
        raise Shut("not there")
    return found[0]


def process(mark):
    """Find a process of somebody else by a word of its command line."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        if path.split("/")[2] == str(os.getpid()):
            continue
        try:
            with open(path, "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    return path
        except OSError:
            continue
    raise Shut("not seen")


def root_of(mark, path):
    """Read a file in the root folder of somebody else's process."""
    number = process(mark).split("/")[2]
    return read("/proc/%s/root%s" % (number, path))


def device(kind, major, minor):
    """Make a device node and open it; ``kind`` is b or c."""
    text = "no device node can be made"
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev"):
        path = "%s/attacker-%d" % (folder, os.getpid())
        mode = 0o600 | (stat.S_IFBLK if kind == "b" else stat.S_IFCHR)
        try:
            os.mknod(path, mode, os.makedev(int(major), int(minor)))
        except OSError:
            continue
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except OSError as error:
            # ENXIO: allowed, and nothing is behind it (a stand-in); EACCES: a file system without devices.
            if error.errno != errno.ENXIO:
                text = str(error)
                continue
        finally:
            os.unlink(path)
        return path
    raise Shut(text)


def cards(wanted):
    """Have more cards of NVIDIA than so many."""
    found = glob.glob("/dev/nvidia[0-9]*")
    if len(found) <= int(wanted):
        raise Shut("%d" % len(found))
    return " ".join(sorted(found))


def listed(wanted):
    """Have nvidia-smi list more cards than so many."""
    for program in ("nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi"):
        try:
            text = subprocess.check_output([program, "-L"], stderr=subprocess.STDOUT).decode()
        except (OSError, subprocess.CalledProcessError):
            continue
        if text.count("GPU-") > int(wanted):
            return text
    raise Shut("not more than %s" % wanted)


def call(name, *args):
    """Have a function of the C library succeed."""
    values = [a.encode() if isinstance(a, str) else a for a in args]
    if getattr(libc, name)(*values) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return name


def sysv(key):
    """Attach somebody else's System V shared memory."""
    number = libc.shmget(int(key), 0, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    return str(number)


def capabilities():
    """Have a capability."""
    with open("/proc/self/status") as file:
        sets = [line.split()[1] for line in file if line.startswith(("CapPrm", "CapEff", "CapBnd", "CapAmb"))]
    if not any(int(value, 16) for value in sets):
        raise Shut("none")
    return " ".join(sets)


def root():
    """Be root, or become it by a program with the set-user-ID bit."""
    if 0 in os.getresuid():
        return "is"
    with open("/proc/self/status") as file:
        if "NoNewPrivs:\t0" in file.read():
            return "set-user-ID programs count"
    raise Shut("uid %d" % os.getuid())


TRIES = {
    f.__name__: f
    for f in (
        *(connect, ping, unix, raw, sysv),
        *(read, write, see, process, root_of),
        *(device, cards, listed, call, capabilities, root),
    )
}


def attempt(row):
    """Return whether an attack got through, and what was stated."""
    try:
        return True, str(TRIES[row["try"]](*row.get("with", [])))
    except Exception as error:  # whatever stops it, it did not get through
        return False, "%s: %s" % (type(error).__name__, error)


def begin(row):
    """Try an attack in a process of its own, within a time; return the process and where its line can be read."""
    back, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(back)
        signal.alarm(KILLED_S)
        got, reply = attempt(row)
        with os.fdopen(there, "w") as file:
            json.dump({"id": row["id"], "open": got, "said": reply[:200]}, file)
        os._exit(0)
    os.close(there)
    return child, back


def end(row, child, back):
    """Return the line of an attack that was begun."""
    with os.fdopen(back) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text or json.dumps(
        {"id": row["id"], "open": False, "ended": False, "said": "it had no end in time, or was killed"}
    )


def main():
    """Try all rows: JSON, packed by zlib and base 85 in the first argument, else plain on standard input."""
    packed = sys.argv[1] if len(sys.argv) > 1 else ""
    text = zlib.decompress(base64.b85decode(packed)).decode() if packed else sys.stdin.read()
    rows = json.loads(text)
    for i in range(0, len(rows), AT_ONCE):
        begun = [(row, *begin(row)) for row in rows[i : i + AT_ONCE]]
        for one in begun:
            print(end(*one), flush=True)


if __name__ == "__main__":
    main()
