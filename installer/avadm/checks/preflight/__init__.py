"""The preflight checks, one per file, in the order in which they are shown."""

from __future__ import annotations

from avadm.checks.base import Check, Context, worst
from avadm.checks.preflight import (
    clocks,
    disks,
    hosts,
    kernel,
    memory,
    names,
    os_release,
    packages,
    ports,
    reachability,
    space,
)
from avadm.findings import Finding

CHECKS: tuple[Check, ...] = (
    reachability.CHECK,
    os_release.CHECK,
    kernel.CHECK,
    names.CHECK,
    hosts.CHECK,
    clocks.CHECK,
    disks.CHECK,
    packages.CHECK,
    memory.CHECK,
    space.CHECK,
    ports.CHECK,
)


def judge(context: Context, checks: tuple[Check, ...] = CHECKS) -> dict[str, list[Finding]]:
    """Return each check's findings; a fact that a node could not give is itself an error of the check."""
    found: dict[str, list[Finding]] = {}
    for check in checks:
        unknown = [f for fact in check.facts for f in context.unknown(check.id, fact)]
        found[check.id] = unknown + check.judge(context)
    return found


__all__ = ["CHECKS", "judge", "worst"]
