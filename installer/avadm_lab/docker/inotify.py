"""Inotify instances for the nodes: all containers share those that the kernel gives the machine's root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from avadm_lab.layout import LabNode

# Counted in running nodes of a site with everything: systemd 5, systemd-logind and dbus-daemon 1 each, syslog-ng 3;
# Prometheus one for each of its 22 jobs (its unit has PrivateUsers, so that they count for root as well); kubelet 3 (4 with
# a plug-in of devices), containerd and kube-controller-manager 1 each.
_NODE = 10
_PROMETHEUS = 22
_KUBERNETES = 6

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH = 1024
"""The limit that `lab up` sets: for several labs."""


def needed(nodes: Sequence[LabNode]) -> int:
    """Return how many instances the nodes take."""
    return sum(
        _NODE + _PROMETHEUS * ("prometheus" in node.possible) + _KUBERNETES * node.kubernetes
        for node in nodes
    )


def left(wanted: int) -> int:
    """Return how many instances are available now, ``wanted`` at most: they are taken and given back."""
    libc = ctypes.CDLL(None)
    taken: list[int] = []
    while len(taken) < wanted and (instance := libc.inotify_init1(os.O_CLOEXEC)) >= 0:
        taken.append(instance)
    for instance in taken:
        os.close(instance)
    return len(taken)


def provide(nodes: Sequence[LabNode], left: Callable[[int], int] = left, limit: Path = LIMIT) -> str:
    """Raise the kernel's limit where the nodes would find too few; return in words what was done or is lacking, or "".

    With too few they start all the same, but systemd no longer sees some changes, Prometheus finds no targets, and kubelet
    ends again and again.
    """
    wanted = needed(nodes)
    if (found := left(wanted)) >= wanted:
        return ""
    try:
        before = int(limit.read_text())
        more = max(ENOUGH, before * 2)
        limit.write_text(str(more))
    except OSError as error:
        return (
            f"the kernel has {found} inotify instances left for root, the nodes take {wanted}, and more are not available "
            f"({error.strerror}): kubelet and Prometheus in them will not work; raise it where this may be done "
            f"(sysctl fs.inotify.max_user_instances={ENOUGH}), or take another lab down"
        )
    return (
        f"raised fs.inotify.max_user_instances of this machine from {before} to {more}, until it "
        f"boots again: {found} were left for root, and the nodes take {wanted}"
    )
