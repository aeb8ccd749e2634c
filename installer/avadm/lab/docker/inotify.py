"""Whether the kernel has inotify instances left for the nodes: all containers share those of the machine's root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

from avadm.lab.layout import LabNode

# Counted in running nodes: systemd 5 and systemd-logind 1; Prometheus one for each of its five jobs (its unit has
# PrivateUsers, so that they count for root as well); kubelet 4, containerd 1.
_NODE = 6
_PROMETHEUS = 5
_KUBERNETES = 5


def needed(nodes: Sequence[LabNode]) -> int:
    """Return how many instances the nodes take."""
    return sum(
        _NODE + _PROMETHEUS * ("prometheus" in node.roles) + _KUBERNETES * node.kubernetes for node in nodes
    )


def left(wanted: int) -> int:
    """Return how many instances can be had now, ``wanted`` at most: they are taken and given back."""
    libc = ctypes.CDLL(None)
    taken: list[int] = []
    while len(taken) < wanted and (instance := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
        taken.append(instance)
    for instance in taken:
        os.close(instance)
    return len(taken)


def shortage(nodes: Sequence[LabNode], left: Callable[[int], int] = left) -> str:
    """Return in words what the nodes would lack and how to get it; "" where there is enough.

    They start all the same, but systemd no longer sees some changes, and Prometheus finds no targets.
    """
    wanted = needed(nodes)
    if (found := left(wanted)) >= wanted:
        return ""
    return (
        f"the kernel has {found} inotify instances left for root and the nodes take {wanted}: Prometheus in them will "
        "find no targets; raise it (sysctl fs.inotify.max_user_instances=1024), or take another lab down"
    )
