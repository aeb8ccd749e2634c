"""Memory."""

from __future__ import absolute_import

import re

from .system import read


def memory():
    """MiB of memory in all, and of it available."""
    found = dict(re.findall(r"^(MemTotal|MemAvailable):\s+(\d+)", read("/proc/meminfo"), re.M))
    return {"total_mib": int(found["MemTotal"]) // 1024, "available_mib": int(found["MemAvailable"]) // 1024}
