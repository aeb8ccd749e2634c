"""What the programs of volumes share: their error, running a program, amounts of bytes. Python 3.5 or later."""

import math
import os
import re
import subprocess
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
MIB = 1 << 20


class VolumeError(Exception):
    """A claim or a volume cannot be served; says why."""


class NotYet(VolumeError):
    """Nothing is wrong: what is to be done waits for something, and no notification is needed."""


class Kind:
    """What makes volumes of one kind; these are the answers of most."""

    def at_once(self, claim):
        """Tell whether a claim is served without waiting for others who might."""
        return False

    def growth(self, volume, claim):
        """Tell whether a volume is to grow to what its claim says now."""
        return False


def bytes_of(quantity):
    """Return a quantity of Kubernetes (1Gi, 500M, 1e9) in bytes, rounded up; VolumeError for none."""
    match = re.match(r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,2})?)([a-zA-Z]*)$", str(quantity))
    if not match or match.group(2) not in SUFFIXES:
        raise VolumeError("%r is no amount of bytes" % quantity)
    size = math.ceil(Decimal(match.group(1)) * SUFFIXES[match.group(2)])
    if not 0 < size < 1 << 63:
        raise VolumeError("%r is no size of a volume" % quantity)
    return size


def run(argv, seconds=60):
    """Run a program; return (exit status, stdout, stderr). 124: it did not end in time."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=seconds,
            env=dict(os.environ, LC_ALL="C"),
        )
    except OSError as error:
        return 127, "", "%s: %s" % (argv[0], os.strerror(error.errno))
    except subprocess.TimeoutExpired:
        return 124, "", "%s did not end within %d s" % (argv[0], seconds)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def must(argv, seconds=60, run=run):
    """Run a program; return what it printed; VolumeError with its last words where it fails."""
    rc, out, err = run(argv, seconds)
    if rc:
        words = [line for line in (err or out).splitlines() if line.strip()]
        raise VolumeError("%s: %s" % (" ".join(argv[:4]), words[-1] if words else "exit status %d" % rc))
    return out


def loops(path, base="/sys/block"):
    """Return the loop devices that lie on a file."""
    found = []
    for name in sorted(os.listdir(base)):
        try:
            with open("%s/%s/loop/backing_file" % (base, name)) as source:
                if source.read().strip() == path:
                    found.append("/dev/" + name)
        except OSError:
            continue
    return found


def modes_of(claim):
    """Return the access modes that a claim asks for."""
    return set(claim["spec"].get("accessModes") or [])
