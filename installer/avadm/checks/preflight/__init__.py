"""The preflight checks, one per file, in the order in which they are shown."""

from __future__ import annotations

from avadm.checks.framework import Check
from avadm.checks.preflight import (
    boot,
    clocks,
    disks,
    hardware,
    hosts,
    identity,
    kernel,
    latency,
    memory,
    names,
    nics,
    os_release,
    packages,
    packet_filter,
    path_mtu,
    ports,
    reachability,
    resolution,
    sources,
    space,
    swap,
)

CHECKS: tuple[Check, ...] = (
    reachability.CHECK,
    os_release.CHECK,
    kernel.CHECK,
    boot.CHECK,
    names.CHECK,
    identity.CHECK,
    hosts.CHECK,
    resolution.CHECK,
    clocks.CHECK,
    sources.TIME,
    nics.CHECK,
    latency.CHECK,
    path_mtu.CHECK,
    hardware.CHECK,
    disks.CHECK,
    sources.PACKAGES,
    sources.REGISTRIES,
    packages.CHECK,
    memory.CHECK,
    swap.CHECK,
    space.CHECK,
    ports.CHECK,
    packet_filter.CHECK,
)
