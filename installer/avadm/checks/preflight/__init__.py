"""The preflight checks, one per file, in the order in which they are shown."""

from __future__ import annotations

from avadm.checks.base import Check, PreflightContext, worst
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
from avadm.findings import Finding

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


def judge(context: PreflightContext, checks: tuple[Check, ...] = CHECKS) -> dict[str, list[Finding]]:
    """Return each check's findings; a fact that a node could not give is itself an error of the check."""
    found: dict[str, list[Finding]] = {}
    for check in checks:
        unknown = [f for fact in check.facts for f in context.unknown(check.id, fact)]
        found[check.id] = unknown + check.judge(context)
    return found


__all__ = ["CHECKS", "judge", "worst"]
