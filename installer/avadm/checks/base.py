"""What a preflight check is: a judgement over the facts of all nodes, returning findings as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from avadm.findings import Finding, Severity
from avadm.site.model import Node, Site
from avadm.site.profile import Profile


@dataclass(frozen=True, slots=True)
class Clock:
    """A node's clock against the controller's.

    Attributes:
        offset_ms: node minus controller, milliseconds.
        error_ms: largest error of that figure: half of the time that passed unobserved.
    """

    offset_ms: float
    error_ms: float


@dataclass(frozen=True)
class PreflightContext:
    """What checks judge.

    Attributes:
        site: the whole site, also where only some nodes were asked.
        profile: its version profile.
        nodes: the nodes that were asked.
        facts: node name to what probe.py printed there; no entry for a node that could not be asked.
        unreachable: node name to the reason.
        clocks: node name to its clock.
    """

    site: Site
    profile: Profile
    nodes: list[Node]
    facts: Mapping[str, Mapping[str, Any]]
    unreachable: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Clock] = field(default_factory=dict)

    def each(self, fact: str) -> Iterator[tuple[Node, Any]]:
        """Yield each node that has a fact, with its value."""
        for node in self.nodes:
            value = self.facts.get(node.name, {}).get(fact)
            if value is not None:
                yield node, value

    def unknown(self, check: str, fact: str) -> list[Finding]:
        """Return an error for each asked node whose fact could not be had: not known is not good."""
        return [
            Finding(
                check=check,
                what="The facts that this check needs could not be read.",
                found=self.facts[n.name].get("errors", {}).get(fact, "nothing"),
                remedy="See what the message says; run preflight again.",
                host=n.name,
            )
            for n in self.nodes
            if n.name in self.facts and self.facts[n.name].get(fact) is None
        ]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: kebab-case name, also the findings' ``check``.
        title: what it makes sure of, a few words.
        facts: the facts of probe.py that it needs.
        judge: the judgement.
        roles: it concerns nodes with one of these roles; empty for all.
    """

    id: str
    title: str
    facts: tuple[str, ...]
    judge: Callable[[PreflightContext], list[Finding]]
    roles: frozenset[str] = frozenset()


def worst(findings: list[Finding]) -> str:
    """Return ``ok``, ``warning`` or ``error``."""
    severities = {f.severity for f in findings}
    if Severity.ERROR in severities:
        return "error"
    return "warning" if Severity.WARNING in severities else "ok"
