"""Nobody else filters packets on the nodes, and nftables' tables of our name are ours."""

from __future__ import annotations

from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding, Severity


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node with a foreign table of our name, a warning where another program filters as well."""
    found: list[Finding] = []
    for node, fact in context.each("filters"):
        if not context.site.network.filter.enabled:
            continue
        if fact["tables"]:
            found.append(
                Finding(
                    "packet-filter",
                    "There are tables of nftables that are called as avadm's, which would replace them.",
                    where="nft list tables",
                    found=", ".join(fact["tables"]),
                    wanted="no table avadm before avadm has made one",
                    remedy="See whose they are, and give them another name; or network.filter.enabled: false in the site file.",
                    host=node.name,
                )
            )
        if fact["others"]:
            found.append(
                Finding(
                    "packet-filter",
                    "Another program filters packets too; what passes has to pass both.",
                    where="units enabled at a boot",
                    found=", ".join(fact["others"]),
                    wanted="none, or rules that let through what docs/reference/generated/ports.md lists",
                    remedy="Disable it, or see that it lets that through. A restart of nftables.service removes avadm's rules.",
                    severity=Severity.WARNING,
                    host=node.name,
                )
            )
    return found


CHECK = Check("packet-filter", "nobody else filters packets", ("filters",), judge, scope="all")
