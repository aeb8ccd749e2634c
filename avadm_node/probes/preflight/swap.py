"""Swap space."""

from __future__ import absolute_import

from .system import read


def swap():
    """Swap space in use: what it is, its size and what of it is used, MiB."""
    lines = [line.split() for line in read("/proc/swaps").splitlines()[1:]]
    return [{"name": w[0], "mib": int(w[2]) // 1024, "used_mib": int(w[3]) // 1024} for w in lines if w]
