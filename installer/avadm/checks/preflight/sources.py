"""Time servers and package sources really answer, asked from each node."""

from __future__ import annotations

from avadm.checks.base import Check, PreflightContext
from avadm.findings import Finding


def _time(context: PreflightContext) -> list[Finding]:
    """Return an error per node and time server that gives no good answer."""
    remedy = "Check time.servers in the site file, UDP port 123 on the way, and the server itself."
    return [
        Finding(
            check="time-sources",
            what=f"The time server {server} gives no good answer.",
            where="UDP 123",
            found=said,
            wanted="an answer from a synchronised server",
            remedy=remedy,
            host=node.name,
        )
        for node, answers in context.each("time_sources")
        for server, said in answers.items()
        if said != "ok"
    ]


def _packages(context: PreflightContext) -> list[Finding]:
    """Return an error per node and package source whose index cannot be had."""
    remedy = "Check packages.sources and packages.proxy in the site file, and the way there."
    return [
        Finding(
            check="package-sources",
            what="A package source does not answer.",
            where=index,
            found=said,
            wanted="its index",
            remedy=remedy,
            host=node.name,
        )
        for node, answers in context.each("package_sources")
        for index, said in answers.items()
        if said != "ok"
    ]


def _registries(context: PreflightContext) -> list[Finding]:
    """Return an error per node and image registry that does not answer it."""
    return [
        Finding(
            check="registries",
            what=f"The image registry {name} does not answer.",
            where=f"https://{name}/v2/",
            found=said,
            wanted="200, or 401 of one that asks who pulls",
            remedy="Check components.kubernetes.registries in the site file (name, ca), DNS, and the way there.",
            host=node.name,
        )
        for node, answers in context.each("registries")
        for name, said in answers.items()
        if said != "ok"
    ]


REGISTRIES = Check("registries", "image registries of others answer", ("registries",), _registries)
TIME = Check("time-sources", "time servers answer", ("time_sources",), _time)
PACKAGES = Check("package-sources", "package sources answer", ("package_sources",), _packages)
