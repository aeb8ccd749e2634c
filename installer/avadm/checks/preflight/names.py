"""Every node is who the site file says: its host name, and its addresses on its own interfaces."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node with another name, or without an address that the site file gives it."""
    found = []
    for node, name in context.each("hostname"):
        if name.split(".")[0] != node.name:  # in capitals too: daemons and CRUSH are called by it
            found.append(
                finding(
                    "names", where="hostname", found=name, wanted=node.name, host=node.name, name=node.name
                )
            )
    for node, addresses in context.each("addresses"):
        for key in ("address", "storage_address"):
            wanted = getattr(node, key)
            if wanted is not None and str(wanted) not in addresses:
                found.append(
                    finding(
                        "names-address",
                        where=f"nodes.{node.name}.{key}",
                        found=", ".join(a for a in addresses if not a.startswith("127.")),
                        wanted=str(wanted),
                        host=node.name,
                    )
                )
    return found


CHECK = Check(
    "names", "host names and addresses as in the site file", ("hostname", "addresses"), judge, scope="all"
)
