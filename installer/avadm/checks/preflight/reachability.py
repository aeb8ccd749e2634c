"""Every node answers over ssh with its pinned host key, as root, and has python."""

from __future__ import annotations

from avadm.checks.base import Check, Context
from avadm.findings import Finding


def judge(context: Context) -> list[Finding]:
    """Return an error per node that could not be asked."""
    return [
        Finding(
            "reachability",
            reason,
            found="no answer",
            wanted="an answer over ssh",
            remedy="If it never worked, run `avadm bootstrap`; else check power, cable, sshd and its log.",
            host=node,
        )
        for node, reason in context.unreachable.items()
    ]


CHECK = Check("reachability", "nodes answer over ssh", (), judge)
