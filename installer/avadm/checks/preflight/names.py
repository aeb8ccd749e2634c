"""Every node is who the site file says: its host name, and its addresses on its own interfaces."""

from __future__ import annotations

from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node with another name, or without an address that the site file gives it."""
    found = []
    for node, name in context.each("hostname"):
        if name.split(".")[0] != node.name:  # in capitals too: daemons and CRUSH are called by it
            found.append(
                Finding(
                    check="names",
                    what="The node's host name is not the site file's.",
                    where="hostname",
                    found=name,
                    wanted=node.name,
                    remedy=f"Run `hostnamectl set-hostname {node.name}` on it, or correct the site file: "
                    "is it the machine that you mean?",
                    host=node.name,
                )
            )
    for node, addresses in context.each("addresses"):
        for key in ("address", "storage_address"):
            wanted = getattr(node, key)
            if wanted is not None and str(wanted) not in addresses:
                found.append(
                    Finding(
                        check="names",
                        what="An address of the site file is on none of the node's interfaces.",
                        where=f"nodes.{node.name}.{key}",
                        found=", ".join(a for a in addresses if not a.startswith("127.")),
                        wanted=str(wanted),
                        remedy="Configure that address, or correct the site file.",
                        host=node.name,
                    )
                )
    return found


CHECK = Check(
    "names", "host names and addresses as in the site file", ("hostname", "addresses"), judge, scope="all"
)
