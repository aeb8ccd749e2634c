"""The framework of preflight, the doctor and the versions check: what a check is, how it is run, what it finds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from avadm.checks.evidence import PreflightContext, Snapshot
from avadm.checks.waivers import Waived
from avadm.errors import DAMAGE
from avadm.findings import Finding, Severity
from avadm.quantity import quantity

RANK = (Severity.ERROR, Severity.UNKNOWN, Severity.WARNING, Severity.INFO)
"""The worst first."""
STATUS = {Severity.ERROR: "bad", Severity.UNKNOWN: "unknown", Severity.WARNING: "warn", Severity.INFO: "ok"}
"""The doctor's words."""

Judge = Callable[..., Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: kebab-case name, also the findings' ``check``.
        title: what it makes sure of, or finds, a few words.
        facts: the facts of the probe that it needs; one where single nodes are judged.
        judge: evidence → findings, where the scope is ``all``; else evidence, node, the fact there → findings.
        roles: it concerns nodes with one of these roles; every node where empty.
        scope: ``all``: everything is judged at once; ``node``: each node is; ``site``: the first answer of any node is.
        topic: group of checks that it belongs to; `--only` takes it too.
        remedy: what to do about findings that say nothing of it.
        requirement: ids of shared requirements, with commas.
        good: what is found where nothing is wrong; nothing where empty.
        also: further facts that the judgement looks at.
    """

    id: str
    title: str
    facts: tuple[str, ...]
    judge: Judge
    roles: Collection[str] = ()
    scope: Literal["all", "node", "site"] = "node"
    topic: str = ""
    remedy: str = ""
    requirement: str = ""
    good: str = ""
    also: tuple[str, ...] = ()


def run(evidence: PreflightContext | Snapshot, checks: Iterable[Check]) -> dict[str, list[Finding]]:
    """Return each check's findings, without the checks that concern no node, or whose facts were not asked for."""
    found: dict[str, list[Finding]] = {}
    for check in checks:
        if check.scope == "all":
            found[check.id] = _all(evidence, check)
            continue
        if isinstance(evidence, PreflightContext):
            raise TypeError(f"{check.id} judges a snapshot")
        if check.facts[0] in evidence.asked and (asked := evidence.concerned(check.roles)):
            found[check.id] = (_site if check.scope == "site" else _nodes)(evidence, check, asked)
    return found


def flat(found: dict[str, list[Finding]]) -> list[Finding]:
    """Return the findings of all checks."""
    return [f for findings in found.values() for f in findings]


def _all(evidence: PreflightContext | Snapshot, check: Check) -> list[Finding]:
    """Judge everything at once; a fact that a node could not give is itself an error: not known is not good."""
    found: list[Finding] = []
    if isinstance(evidence, PreflightContext):
        what, remedy = (
            "The facts that this check needs could not be read.",
            "See what the message says; run preflight again.",
        )
        found = [
            Finding(check.id, what, found=why, remedy=remedy, host=name)
            for fact in check.facts
            for name, why in evidence.unread(fact)
        ]
    found += [_complete(check, "", f) for f in check.judge(evidence)]
    return found or _good(check, "site")


def _nodes(snapshot: Snapshot, check: Check, asked: Sequence[str]) -> list[Finding]:
    found: list[Finding] = []
    well = 0
    for name in asked:
        data = snapshot.part(name, check.facts[0])
        here = [_blind(snapshot, check, name)] if data is None else list(_judged(snapshot, check, name, data))
        well += not here
        found += here
    if well == len(asked):
        return _good(check, quantity(well, "node") if well > 1 else asked[0])
    return found


def _site(snapshot: Snapshot, check: Check, asked: Sequence[str]) -> list[Finding]:
    fact = check.facts[0]
    witness = next((n for n in asked if snapshot.part(n, fact) is not None), None)
    if witness is None:
        # The first that was meant to tell; those that were not asked for this fact have nothing to say of it.
        return [_blind(snapshot, check, next((n for n in asked if snapshot.unread(n, fact)), asked[0]))]
    return list(_judged(snapshot, check, witness, snapshot.part(witness, fact))) or _good(check, "cluster")


def _judged(snapshot: Snapshot, check: Check, node: str, data: Any) -> Iterator[Finding]:
    """Yield findings; what a node reported may be of any shape, and then nothing is known."""
    try:
        for f in check.judge(snapshot, node, data):
            yield _complete(check, node, f)
    except DAMAGE as error:
        yield _complete(check, node, unknown(f"the reply cannot be parsed: {type(error).__name__}: {error}"))


def _complete(check: Check, node: str, finding: Finding) -> Finding:
    """Return a finding with what its judgement left to the check."""
    if finding.check:
        return finding
    where, remedy = finding.where or node or "site", finding.remedy or check.remedy
    return replace(finding, check=check.id, what=check.title, where=where, remedy=remedy, host=node or None)


def _blind(snapshot: Snapshot, check: Check, node: str) -> Finding:
    why = snapshot.unread(node, check.facts[0]) or "the node did not report it"
    silent = snapshot.nodes[node].silent
    remedy = "Reach the node first." if silent else "See what the evidence says; run it again."
    return _complete(check, node, unknown(why, remedy=remedy))


def _good(check: Check, where: str) -> list[Finding]:
    info = Severity.INFO
    return [Finding(check.id, check.title, where, check.good, severity=info)] if check.good else []


def bad(found: str, where: str = "", remedy: str = "") -> Finding:
    """Return what must be fixed; the check completes it."""
    return Finding("", "", where, found, remedy=remedy)


def warn(found: str, where: str = "", remedy: str = "") -> Finding:
    """Return what may become worse."""
    return Finding("", "", where, found, remedy=remedy, severity=Severity.WARNING)


def unknown(found: str, where: str = "", remedy: str = "") -> Finding:
    """Return what could not be looked at."""
    return Finding("", "", where, found, remedy=remedy, severity=Severity.UNKNOWN)


def worst(findings: Iterable[Finding]) -> Severity:
    """Return the worst severity of all; INFO where there is none."""
    return min((f.severity for f in findings), key=RANK.index, default=Severity.INFO)


def rows(
    findings: Iterable[Finding], checks: Iterable[Check], waived: Iterable[Waived] = ()
) -> list[dict[str, object]]:
    """Return the doctor's findings as JSON-ready data; those that are waived with their waiver and own status in it."""
    requirement = {c.id: c.requirement for c in checks}

    def row(f: Finding, status: str) -> dict[str, object]:
        return {
            "id": f.check,
            "status": status,
            "where": f.where,
            "evidence": f.found,
            "remedy": f.remedy,
            "requirement": requirement[f.check],
        }

    return [row(f, STATUS[f.severity]) for f in findings] + [
        {
            **row(w.finding, "waived"),
            "waiver": {
                "status": STATUS[w.finding.severity],
                "who": w.waiver.who,
                "why": w.waiver.why,
                "until": w.waiver.until.isoformat(),
            },
        }
        for w in waived
    ]


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


def group(findings: Iterable[Finding]) -> list[Group]:
    """Return findings grouped over nodes, the worst first, and of those the one with the most nodes."""
    together: dict[Finding, list[Finding]] = defaultdict(list)
    for f in findings:
        together[replace(f, found="", host=None)].append(f)
    groups = [
        Group(key, dict(Counter(f.found for f in some)), sorted({f.host for f in some if f.host}))
        for key, some in together.items()
    ]
    return sorted(groups, key=lambda g: (RANK.index(g.finding.severity), -len(g.hosts)))


@dataclass(frozen=True)
class Report:
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
        return flat(self.found)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data."""
        return {
            "site": self.site,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 2),
            "checks": [
                {
                    "id": name,
                    "title": self.titles[name],
                    "result": "ok" if worst(findings) is Severity.INFO else str(worst(findings)),
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
