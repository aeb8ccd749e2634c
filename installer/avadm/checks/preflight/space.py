"""Room on the file systems that packages, monitors and metrics are written to."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding, Severity
from avadm.site.model import Node

# MiB. Packages and logs of a full node took 1.2 GiB in the lab; ceph's monitors stop below 5 % free, and a
# Prometheus keeps about 2 bytes a sample.
STOP = {"/": 1024, "/var/lib": 1024, "/tmp": 64}  # noqa: S108  looked at, not written to
# As many as that space has on a new ext4, one for each 16 KiB.
INODES = {path: mib * 64 for path, mib in STOP.items()}
COMFORT = {"mon": 15 * 1024, "prometheus": 20 * 1024}


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error where the install would not fit, a warning where the service would soon be short."""
    found = []
    for node, space in context.each("space"):
        for path, wanted in STOP.items():
            if path in space and space[path] < wanted:
                found.append(_finding(node, path, f"{space[path]} MiB", f"{wanted} MiB", Severity.ERROR))
        wanted = sum(COMFORT.get(role, 0) for role in node.roles)
        if STOP["/var/lib"] <= space.get("/var/lib", 0) < wanted:
            free = f"{space['/var/lib']} MiB"
            found.append(_finding(node, "/var/lib", free, f"{wanted} MiB", Severity.WARNING))
    for node, inodes in context.each("inodes"):
        for path, wanted in INODES.items():
            if (left := inodes.get(path)) is not None and left < wanted:
                found.append(_finding(node, path, f"{left} inodes", f"{wanted} inodes", Severity.ERROR))
    return found


def _finding(node: Node, path: str, free: str, wanted: str, severity: Severity) -> Finding:
    return finding(
        "space",
        where=path,
        found=f"{free} free",
        wanted=f"at least {wanted}",
        host=node.name,
        severity=severity,
        file=path,
    )


CHECK = Check("space", "room for packages and data", ("space", "inodes"), judge, scope="all")
