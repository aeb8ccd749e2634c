"""Nodes that run pods do not swap: kubelet does not start there, so the phase nodes switches it off."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding
from avadm.site.model import Node, Site

VARIABLE = "kube_node_own_kernel"


def own_kernel(site: Site, node: Node) -> bool:
    """Return whether a node's kernel, and so its swap space, is its own, as in the role's variables."""
    return bool((site.extra_vars | node.vars).get(VARIABLE, True))


def judge(context: PreflightContext) -> list[Finding]:
    """Return a warning per node that swaps, an error where what is in swap space does not fit into memory."""
    found = []
    for node, spaces in context.each("swap"):
        if not spaces or not {"master", "worker"} & set(node.roles) or not own_kernel(context.site, node):
            continue
        used = sum(s["used_mib"] for s in spaces)
        free = (context.facts[node.name].get("memory") or {}).get("available_mib", 0)
        full = used > free
        found.append(
            finding(
                "swap-full" if full else "swap",
                where="/proc/swaps",
                found=", ".join(f"{s['name']} ({s['mib']} MiB)" for s in spaces)
                + (f", {used} MiB used, {free} MiB of memory available" if full else ""),
                wanted="no swap space",
                host=node.name,
            )
        )
    return found


CHECK = Check("swap", "nodes that run pods do not swap", ("swap",), judge, scope="all")
