"""What a preflight came to, as data: by check, and grouped so that one fault of many nodes is one line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from avadm.checks.base import worst
from avadm.checks.waivers import Waived
from avadm.findings import Finding, Severity

_RANK = [Severity.ERROR, Severity.WARNING, Severity.INFO]


@dataclass(frozen=True)
class Group:
    """The same finding on several nodes, where only what was found may differ.

    Attributes:
        finding: one of them; its host and found stand for no single node.
        found: what was found, and on how many nodes.
        hosts: the nodes, sorted; none for a finding about no single one.
    """

    finding: Finding
    found: dict[str, int]
    hosts: list[str]


@dataclass(frozen=True)
class PreflightResult:
    """A whole preflight.

    Attributes:
        site: the site's name.
        nodes: names of the nodes that were asked.
        titles: check id to what it makes sure of, in order.
        found: check id to the findings that stand.
        waived: check id to the findings that are waived.
        seconds: wall time.
        none_asked: whether no node at all could be asked, so that nothing was checked.
    """

    site: str
    nodes: list[str]
    titles: dict[str, str]
    found: dict[str, list[Finding]]
    waived: dict[str, list[Waived]] = field(default_factory=dict)
    seconds: float = 0.0
    none_asked: bool = False

    @property
    def everything(self) -> list[Finding]:
        """All findings that stand."""
        return [f for findings in self.found.values() for f in findings]

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data."""
        return {
            "site": self.site,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 2),
            "checks": [
                {
                    "id": name,
                    "title": self.titles[name],
                    "result": worst(findings),
                    "findings": [f.as_dict() for f in findings],
                    "waived": [w.as_dict() for w in self.waived.get(name, [])],
                }
                for name, findings in self.found.items()
            ],
            "summary": [
                {**g.finding.as_dict(), "found": g.found, "host": None, "hosts": g.hosts}
                for g in group(self.everything)
            ],
        }


def group(findings: Iterable[Finding]) -> list[Group]:
    """Return findings grouped over nodes, the worst first, and of those the one with the most nodes."""
    together: dict[Finding, list[Finding]] = defaultdict(list)
    for f in findings:
        together[
            Finding(
                check=f.check,
                what=f.what,
                where=f.where,
                found="",
                wanted=f.wanted,
                remedy=f.remedy,
                severity=f.severity,
            )
        ].append(f)
    groups = [
        Group(key, dict(Counter(f.found for f in some)), sorted({f.host for f in some if f.host}))
        for key, some in together.items()
    ]
    return sorted(groups, key=lambda g: (_RANK.index(g.finding.severity), -len(g.hosts)))
