"""Time servers and package sources really answer, asked from each node."""

from __future__ import annotations

from dataclasses import replace

from avadm.catalogue import CATALOGUE, finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding


def _silent(code: str, title: str, fact: str, *, where: str, wanted: str) -> Check:
    """Return the check that each source answers each node; in ``where`` NAME stands for the source."""

    def judge(context: PreflightContext) -> list[Finding]:
        return [
            finding(code, where.replace("NAME", name), reply, wanted, host=node.name, name=name)
            for node, answers in context.each(fact)
            for name, reply in answers.items()
            if reply != "ok"
        ]

    return Check(CATALOGUE[code].check or code, title, (fact,), judge, scope="all")


_REGISTRIES = _silent(
    "registries",
    "image registries of others answer",
    "registries",
    where="https://NAME/v2/",
    wanted="200, or 401 of one that asks who pulls",
)


def _registries(context: PreflightContext) -> list[Finding]:
    """Judge registries, and the proxy to the internet, which is asked among them."""
    proxy = context.site.packages.internet_proxy or ""
    return [
        finding(
            "registries-proxy", "packages.internet_proxy", f.found, "a connection", host=f.host, proxy=proxy
        )
        if proxy and f.where == f"https://{proxy}/v2/"
        else f
        for f in _REGISTRIES.judge(context)
    ]


REGISTRIES = replace(_REGISTRIES, judge=_registries)
TIME = _silent(
    "time-sources",
    "time servers answer",
    "time_sources",
    where="UDP 123",
    wanted="an answer from a synchronised server",
)
PACKAGES = _silent(
    "package-sources-silent",
    "package sources answer",
    "package_sources",
    where="NAME",
    wanted="its index",
)
