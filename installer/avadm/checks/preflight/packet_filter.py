"""No other packet filter on the nodes, and nftables' tables of our name are ours."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node with a foreign table of our name, a warning where another program filters as well."""
    found: list[Finding] = []
    for node, fact in context.each("filters"):
        if not context.site.network.filter.enabled:
            continue
        if fact["tables"]:
            found.append(
                finding(
                    "packet-filter",
                    where="nft list tables",
                    found=", ".join(fact["tables"]),
                    wanted="no table avadm before avadm has made one",
                    host=node.name,
                )
            )
        if fact["others"]:
            found.append(
                finding(
                    "packet-filter-others",
                    where="units enabled at a boot",
                    found=", ".join(fact["others"]),
                    wanted="none, or rules that let through what docs/reference/generated/ports.md lists",
                    host=node.name,
                )
            )
    return found


CHECK = Check("packet-filter", "no conflicting packet filter", ("filters",), judge, scope="all")
