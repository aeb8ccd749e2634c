"""Time servers and package sources really answer, asked from each node."""

from __future__ import annotations

from dataclasses import replace

from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def _silent(title: str, fact: str, *, check: str, what: str, where: str, wanted: str, remedy: str) -> Check:
    """Return the check that each source answers each node; in ``what`` and ``where`` NAME stands for the source."""

    def judge(context: PreflightContext) -> list[Finding]:
        return [
            Finding(
                check=check,
                what=what.replace("NAME", name),
                where=where.replace("NAME", name),
                found=reply,
                wanted=wanted,
                remedy=remedy,
                host=node.name,
            )
            for node, answers in context.each(fact)
            for name, reply in answers.items()
            if reply != "ok"
        ]

    return Check(check, title, (fact,), judge, scope="all")


_REGISTRIES = _silent(
    "image registries of others answer",
    "registries",
    check="registries",
    what="The image registry NAME does not answer.",
    where="https://NAME/v2/",
    wanted="200, or 401 of one that asks who pulls",
    remedy="Check components.kubernetes.registries in the site file (name, ca), DNS, and the way there.",
)


def _registries(context: PreflightContext) -> list[Finding]:
    """Judge registries, and the proxy to the internet, which is asked among them."""
    proxy = context.site.packages.internet_proxy or ""
    return [
        replace(
            f,
            what=f"The proxy to the internet, {proxy}, does not answer.",
            where="packages.internet_proxy",
            wanted="a connection",
            remedy="Check packages.internet_proxy in the site file, and the firewall between the node and the proxy.",
        )
        if proxy and f.where == f"https://{proxy}/v2/"
        else f
        for f in _REGISTRIES.judge(context)
    ]


REGISTRIES = replace(_REGISTRIES, judge=_registries)
TIME = _silent(
    "time servers answer",
    "time_sources",
    check="time-sources",
    what="The time server NAME gives no good answer.",
    where="UDP 123",
    wanted="an answer from a synchronised server",
    remedy="Check time.servers in the site file, UDP port 123 on the way, and the server itself.",
)
PACKAGES = _silent(
    "package sources answer",
    "package_sources",
    check="package-sources",
    what="A package source does not answer.",
    where="NAME",
    wanted="its index",
    remedy="Check packages.sources and packages.proxy in the site file, and the way there.",
)
