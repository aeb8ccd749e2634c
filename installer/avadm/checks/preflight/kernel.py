"""Every node runs the same kernel, the profile's where it states one (P2)."""

from __future__ import annotations

from collections import Counter

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node whose kernel is not the stated one, or not that of the most nodes."""
    kernels = {node.name: os["kernel"] for node, os in context.each("os")}
    stated = context.profile.os.get("kernel", "")
    if not kernels:
        return []
    common = Counter(kernels.values()).most_common(1)[0][0]
    found = []
    for node, kernel in kernels.items():
        # Ubuntu's "4.18.5-041805-generic" is the kernel 4.18.5.
        fits = (
            kernel == stated or kernel.startswith((f"{stated}-", f"{stated}."))
            if stated
            else kernel == common
        )
        if not fits:
            found.append(
                finding(
                    "kernel",
                    where="uname -r",
                    found=kernel,
                    wanted=f"{stated} (profile {context.profile.name})"
                    if stated
                    else f"{common}, as most nodes",
                    host=node,
                )
            )
    return found


CHECK = Check("kernel", "same kernel, the profile's if stated", ("os",), judge, scope="all")
