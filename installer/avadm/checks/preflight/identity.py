"""No two nodes are copies of each other: machine-id and MAC addresses are unique (an image that was cloned with them)."""

from __future__ import annotations

from collections import defaultdict

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node that shares a machine-id or a MAC address, or that has no machine-id."""
    found = []
    owners: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node, machine in context.each("machine_id"):
        if machine:
            owners["machine-id", machine].append(node.name)
        else:
            found.append(finding("identity-none", "/etc/machine-id", "nothing", "one", host=node.name))
    for node, nics in context.each("nics"):
        for mac in {nic["mac"] for nic in nics.values() if nic["mac"]}:
            owners["MAC address", mac].append(node.name)
    for (kind, value), names in owners.items():
        for name in names if len(names) > 1 else []:
            others = ", ".join(n for n in names if n != name)
            code = "identity-machine-id" if kind == "machine-id" else "identity-mac"
            found.append(finding(code, kind, f"{value}, as {others}", "one each", host=name))
    return found


CHECK = Check("identity", "no node is a copy of another", ("machine_id", "nics"), judge, scope="all")
