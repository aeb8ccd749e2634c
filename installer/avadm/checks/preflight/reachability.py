"""Every node answers over ssh with its pinned host key, as root, and has python."""

from __future__ import annotations

from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.remote.access import findings


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node that could not be asked."""
    return findings("reachability", context.unreachable)


CHECK = Check("reachability", "nodes answer over ssh", (), judge, scope="all")
