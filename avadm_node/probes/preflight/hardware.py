"""Disks and network interfaces of the machine."""

from __future__ import absolute_import

import glob
import os
import re

from .nics import number
from .system import slurp


def drives():
    """Disks of this machine: name, GiB, whether they spin (null: not reported)."""
    found = []
    for name in sorted(os.listdir("/sys/block")):
        base = "/sys/block/%s/" % name
        if re.match(r"(loop|ram|zram|dm-|md|sr|fd|nbd|rbd)", name) or slurp(base + "removable") == "1":
            continue
        turning = slurp(base + "queue/rotational")
        gib = int(slurp(base + "size") or 0) // 2**21
        found.append({"name": name, "gib": gib, "rotational": None if turning is None else turning == "1"})
    return found


def interfaces():
    """The network interfaces that are hardware: name and speed in Mbit/s (null: no link, or not reported)."""
    found = []
    for path in sorted(glob.glob("/sys/class/net/*/device")):
        name = path.split("/")[4]
        speed = number(slurp("/sys/class/net/%s/speed" % name))
        found.append({"name": name, "speed": speed if speed and speed > 0 else None})
    return found
