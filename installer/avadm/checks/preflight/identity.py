"""No two nodes are copies of each other: machine-id and MAC addresses are unique (an image that was cloned with them)."""

from __future__ import annotations

from collections import defaultdict

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
            remedy = "Run `systemd-machine-id-setup` on it."
            found.append(
                _finding(
                    node.name, "The node has no machine-id.", "/etc/machine-id", "nothing", "one", remedy
                )
            )
    for node, nics in context.each("nics"):
        for mac in {nic["mac"] for nic in nics.values() if nic["mac"]}:
            owners["MAC address", mac].append(node.name)
    for (kind, value), names in owners.items():
        for name in names if len(names) > 1 else []:
            others = ", ".join(n for n in names if n != name)
            remedy = (
                "Remove /etc/machine-id and run `systemd-machine-id-setup`; prepare the image without it."
                if kind == "machine-id"
                else "Look which machine has it by right; set the other's back."
            )
            found.append(
                _finding(
                    name,
                    f"Two nodes have the same {kind}.",
                    kind,
                    f"{value}, as {others}",
                    "one each",
                    remedy,
                )
            )
    return found


def _finding(host: str, what: str, where: str, found: str, wanted: str, remedy: str) -> Finding:
    return Finding(
        check="identity", what=what, where=where, found=found, wanted=wanted, remedy=remedy, host=host
    )


CHECK = Check("identity", "no node is a copy of another", ("machine_id", "nics"), judge, scope="all")
