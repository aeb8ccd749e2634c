"""The TCP ports of a node's services are free, or held by those very services."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.components.catalog import taken
from avadm.findings import Finding

# The kernel cuts a program's name to 15 characters (/proc/PID/comm).
_COMM = 15


def ours(program: str, owner: str) -> bool:
    """Whether a listening program's (cut) name is that of the owner (or of one of two), whatever its package calls it."""
    if " or " in owner:
        return any(ours(program, one) for one in owner.split(" or "))
    names = {owner, owner.removeprefix("prometheus-"), owner.removeprefix("prometheus-").replace("-", "_")}
    return any(program.startswith(name[:_COMM]) for name in names)


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per port that another program listens on."""
    found = []
    for node, listening in context.each("listening"):
        owners = taken(context.site, node)
        for port, programs in listening.items():
            others = [p for p in programs if not ours(p, owners[int(port)])]
            if others or not programs:
                found.append(
                    finding(
                        "ports",
                        where=f"TCP {port}",
                        found=", ".join(others) or "a program that cannot be seen",
                        wanted=f"free, or {owners[int(port)]}",
                        host=node.name,
                        port=port,
                    )
                )
    return found


CHECK = Check("ports", "ports of the services are free", ("listening",), judge, scope="all")
