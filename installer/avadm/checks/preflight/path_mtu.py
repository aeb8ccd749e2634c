"""Packets of full size pass between nodes uncut: a switch that forgot jumbo frames lets only small ones through."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.checks.preflight.latency import Fault, Pair, findings, pairs
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return findings for pairs between which full frames do not pass; pairs without any answer are `latency`'s."""
    found = []
    everything = [p for p in pairs(context) if p.best is not None]
    for network in ("management", "storage"):
        here = [p for p in everything if p.network == network]
        for kind in ("lost", "unknown"):
            bad = [(p, f"{p.fact['size']} bytes") for p in here if p.fact["full"] == kind]
            fault = Fault(f"path-mtu-{kind}", "full frames uncut", bad)
            found += findings(fault, here, f"{network} network")
        found += _own(network, [p for p in here if p.fact["full"] == "own-mtu"])
    return found


def _own(network: str, bad: list[Pair]) -> list[Finding]:
    """Return an error per node that cannot even send packets of the size that the site file asks for."""
    return [
        finding(
            "path-mtu",
            where=f"{network} network",
            found=f"{node} cannot send {size} bytes",
            wanted=f"{size} bytes",
            host=node,
        )
        for node, size in sorted({(p.first, p.fact["size"]) for p in bad})
    ]


CHECK = Check("path-mtu", "packets of full size pass", ("peers",), judge, scope="all")
