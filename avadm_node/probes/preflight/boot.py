"""What follows from how the kernel was booted."""

from __future__ import absolute_import

import re

from .system import read, slurp


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
