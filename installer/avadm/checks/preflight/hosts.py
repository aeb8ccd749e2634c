"""No node's /etc/hosts sends a node's name elsewhere (the base phase writes all of them there)."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return a warning per node whose /etc/hosts has another address for a node of the site."""
    domain = context.site.network.domain
    wanted = {name: str(n.address) for n in context.site.nodes for name in (n.name, f"{n.name}.{domain}")}
    found = []
    for node, hosts in context.each("hosts"):
        wrong = {
            name: sorted(set(addresses) - {wanted[name]})
            for name, addresses in hosts.items()
            if name in wanted and {v4 for v4 in addresses if ":" not in v4} - {wanted[name]}
        }
        # 127.0.1.1 for a node's own name comes from Debian's installer; the base phase replaces it.
        wrong = {name: a for name, a in wrong.items() if not all(x.startswith("127.") for x in a)}
        for name, addresses in wrong.items():
            found.append(
                finding(
                    "hosts",
                    where="/etc/hosts",
                    found=", ".join(addresses),
                    wanted=wanted[name],
                    host=node.name,
                    name=name,
                )
            )
    return found


CHECK = Check("hosts", "no name leads elsewhere", ("hosts",), judge, scope="all")
