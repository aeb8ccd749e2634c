"""The approved devices: what is behind each name, and whether it may be unfit."""

from __future__ import absolute_import

import glob
import os
import re

from ..disks.rotation import rotates
from .system import call, read, slurp


def block_devices():
    """Kernel name to serial and WWN of each whole block device."""
    code, out, err = call("lsblk", "-d", "-n", "-P", "-o", "NAME,SERIAL,WWN")
    if code != 0:
        raise RuntimeError("lsblk: " + err.strip())
    return dict(
        (m[0], (m[1], m[2])) for m in re.findall(r'NAME="([^"]*)" SERIAL="([^"]*)" WWN="([^"]*)"', out)
    )


def devices(wanted):
    """What is behind each approved device: why it may be unfit; that one is blank is proven by `proof`."""
    table = block_devices() if any(not w.get("by_id") for w in wanted) else {}
    return [device(w, table) for w in wanted]


def device(wanted, table):
    """One approved device."""
    if wanted.get("by_id"):
        paths = [wanted["by_id"]] if os.path.exists(wanted["by_id"]) else []
    else:
        column = 0 if wanted.get("serial") else 1
        value = wanted.get("serial") or wanted.get("wwn")
        paths = ["/dev/" + name for name, ids in table.items() if value and ids[column] == value]
    if len(paths) != 1:
        return {"matches": len(paths)}
    path = os.path.realpath(paths[0])
    number = os.stat(path).st_rdev
    base = "/sys/dev/block/%d:%d" % (os.major(number), os.minor(number))
    name = os.path.basename(os.path.realpath(base))
    used = [
        w[1]
        for w in (line.split() for line in read("/proc/self/mounts").split("\n") if line)
        if w[0].startswith("/dev/") and os.path.realpath(w[0]) == path
    ]
    used += [
        "swap" for line in read("/proc/swaps").splitlines()[1:] if os.path.realpath(line.split()[0]) == path
    ]
    code, out, _ = call("blkid", "-p", "-o", "export", path)
    signature = re.findall(r"^(?:PTTYPE|TYPE)=(.*)$", out, re.M) if code == 0 else []
    fact = {
        "matches": 1,
        "path": path,
        "used": used,
        "holders": holders(base),
        "partitions": sorted(os.path.basename(p) for p in glob.glob("%s/%s*" % (base, name))),
        "signature": signature,
        "rotational": None,
        "whole": os.path.exists(base + "/queue"),
        "gib": int(slurp(base + "/size") or 0) // 2**21,
    }
    fact["rotational"] = rotates(name, slurp(base + "/queue/rotational"), slurp(base + "/device/model"))
    return fact


def holders(base):
    """What is stacked on a device: a device mapper's own name (ceph--UUID-osd--block--UUID) before dm-N."""
    found = []
    for path in glob.glob(base + "/holders/*"):
        name = path + "/dm/name"
        found.append(read(name).strip() if os.path.exists(name) else os.path.basename(path))
    return sorted(found)
