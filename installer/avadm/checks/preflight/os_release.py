"""Every node runs the same distribution release, the profile's (P2), but for what its package sources bring of the next one."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node that runs another distribution or release than the profile's."""
    wanted = context.profile.os
    name, releases = wanted.get("distribution", ""), context.profile.releases()
    found = []
    for node, os in context.each("os"):
        right = os["id"].lower() == name.lower() and any(
            os["release"] == release or os["release"].startswith(f"{release}.") for release in releases
        )
        if not right:
            found.append(
                finding(
                    "os",
                    where="/etc/os-release",
                    found=os["name"] or f"{os['id']} {os['release']}",
                    wanted=f"{name} {' or '.join(releases)} (profile {context.profile.name})",
                    host=node.name,
                )
            )
    return found


CHECK = Check("os", "same operating system, the profile's", ("os",), judge, scope="all")
