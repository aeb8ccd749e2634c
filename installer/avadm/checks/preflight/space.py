"""Room on the file systems that packages, monitors and metrics are written to."""

from __future__ import annotations

from avadm.checks.base import Check, PreflightContext
from avadm.findings import Finding, Severity
from avadm.site.model import Node

# MiB. Packages and logs of a full node took 1.2 GiB in the lab; ceph's monitors stop below 5 % free, and a
# Prometheus keeps about 2 bytes a sample.
STOP = {"/": 1024, "/var/lib": 1024, "/tmp": 64}  # noqa: S108  looked at, not written to
COMFORT = {"mon": 15 * 1024, "prometheus": 20 * 1024}


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error where the install would not fit, a warning where the service would soon be short."""
    found = []
    for node, space in context.each("space"):
        for path, wanted in STOP.items():
            if path in space and space[path] < wanted:
                found.append(_finding(node, path, space[path], wanted, Severity.ERROR))
        wanted = sum(COMFORT.get(role, 0) for role in node.roles)
        if STOP["/var/lib"] <= space.get("/var/lib", 0) < wanted:
            found.append(_finding(node, "/var/lib", space["/var/lib"], wanted, Severity.WARNING))
    return found


def _finding(node: Node, path: str, free: int, wanted: int, severity: Severity) -> Finding:
    return Finding(
        check="space",
        what=f"There is little free space on the file system of {path}.",
        where=path,
        found=f"{free} MiB free",
        wanted=f"at least {wanted} MiB",
        remedy="Make room (apt-get clean, old logs), or give that folder a larger file system.",
        severity=severity,
        host=node.name,
    )


CHECK = Check("space", "room for packages and data", ("space",), judge)
