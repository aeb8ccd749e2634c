"""What a check of the doctor is: a pure function from a snapshot to troubles; and how all of them are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

from avadm.doctor.model import Snapshot
from avadm.errors import DAMAGE
from avadm.quantity import quantity


class Status(StrEnum):
    """What came of a check; ``unknown``: it could not look."""

    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a judgement found.

    Attributes:
        status: how bad it is.
        evidence: what was seen, with its numbers.
        where: node, daemon or object; the judged node where empty.
        remedy: what to do; the check's own where empty.
    """

    status: Status
    evidence: str
    where: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What is told of one check at one place; the fields of `avadm doctor --json`."""

    id: str
    status: Status
    where: str
    evidence: str
    remedy: str
    requirement: str

    def as_dict(self) -> dict[str, str]:
        """Return the result as JSON-ready data."""
        return {key: str(value) for key, value in asdict(self).items()}


Judge = Callable[[Snapshot, str, Any], Iterable[Trouble]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        id: kebab-case name.
        topic: file of checks that it belongs to; `--only` takes it too.
        title: what it finds, a few words.
        remedy: what to do about it.
        part: the part of the probe that it judges; "" for what the controller knows.
        judge: snapshot, node, what the part said there → troubles.
        roles: it concerns nodes with one of these roles; every node where empty.
        scope: ``node``: each node is judged; ``site``: the first answer of any is; ``controller``: once, without a part.
        requirement: ids of shared requirements, with commas.
        good: evidence where nothing is wrong.
        also: further parts that the judgement looks at.
    """

    id: str
    topic: str
    title: str
    remedy: str
    part: str
    judge: Judge
    roles: tuple[str, ...] = ()
    scope: Literal["node", "site", "controller"] = "node"
    requirement: str = ""
    good: str = ""
    also: tuple[str, ...] = ()


def run(snapshot: Snapshot, checks: Sequence[Check]) -> list[Result]:
    """Return what all checks say; those whose part was not asked for, or that concern no node, say nothing."""
    return [result for check in checks for result in _one(snapshot, check)]


def _one(snapshot: Snapshot, check: Check) -> list[Result]:
    if check.scope == "controller":
        found = list(_judged(snapshot, check, "", None))
        return found or [_result(check, Status.OK, "site", check.good or check.title)]
    if check.part not in snapshot.asked:
        return []
    concerned = [n.name for n in snapshot.site.nodes if not check.roles or set(check.roles) & set(n.roles)]
    asked = [name for name in concerned if name in snapshot.nodes]
    if not asked:
        return []
    return _site(snapshot, check, asked) if check.scope == "site" else _nodes(snapshot, check, asked)


def _nodes(snapshot: Snapshot, check: Check, asked: Sequence[str]) -> list[Result]:
    found: list[Result] = []
    well = 0
    for name in asked:
        data = snapshot.part(name, check.part)
        if data is None:
            found.append(_blind(snapshot, check, name))
            continue
        troubles = list(_judged(snapshot, check, name, data))
        well += not troubles
        found += troubles
    if well == len(asked):
        words = quantity(well, "node") if well > 1 else asked[0]
        found.append(_result(check, Status.OK, words, check.good))
    return found


def _site(snapshot: Snapshot, check: Check, asked: Sequence[str]) -> list[Result]:
    witness = next((n for n in asked if snapshot.part(n, check.part) is not None), None)
    if witness is None:
        # The first that was meant to tell; those that were not asked for this part have nothing to say of it.
        blind = [n for n in asked if snapshot.nodes[n].silent or check.part in snapshot.nodes[n].errors]
        return [_blind(snapshot, check, (blind or list(asked))[0])]
    found = list(_judged(snapshot, check, witness, snapshot.part(witness, check.part)))
    return found or [_result(check, Status.OK, "cluster", check.good)]


def _judged(snapshot: Snapshot, check: Check, node: str, data: Any) -> Iterator[Result]:
    """Yield results; what a node said may be of any shape, and then nobody knows."""
    try:
        for t in check.judge(snapshot, node, data):
            remedy = t.remedy or check.remedy
            where = t.where or node or "site"
            yield Result(check.id, t.status, where, t.evidence, remedy, check.requirement)
    except DAMAGE as error:
        evidence = f"what was told cannot be understood: {type(error).__name__}: {error}"
        yield _result(check, Status.UNKNOWN, node or "site", evidence)


def _blind(snapshot: Snapshot, check: Check, node: str) -> Result:
    facts = snapshot.nodes[node]
    why = facts.silent or facts.errors.get(check.part) or "the node said nothing of it"
    remedy = "Reach the node first." if facts.silent else "See what the evidence says; run it again."
    return Result(check.id, Status.UNKNOWN, node, why, remedy, check.requirement)


def _result(check: Check, status: Status, where: str, evidence: str) -> Result:
    return Result(
        check.id, status, where, evidence, "" if status is Status.OK else check.remedy, check.requirement
    )


def parts(checks: Iterable[Check]) -> set[str]:
    """Return the parts of the probe that checks need."""
    return {part for c in checks for part in (c.part, *c.also) if part}


def worst(results: Iterable[Result]) -> Status:
    """Return the worst status of all: bad, unknown, warn, ok."""
    seen = {r.status for r in results}
    return next((s for s in (Status.BAD, Status.UNKNOWN, Status.WARN) if s in seen), Status.OK)


def bad(evidence: str, where: str = "", remedy: str = "") -> Trouble:
    """Return a trouble that must be fixed."""
    return Trouble(Status.BAD, evidence, where, remedy)


def warn(evidence: str, where: str = "", remedy: str = "") -> Trouble:
    """Return a trouble that may become worse."""
    return Trouble(Status.WARN, evidence, where, remedy)


def unknown(evidence: str, where: str = "", remedy: str = "") -> Trouble:
    """Return that it could not be told."""
    return Trouble(Status.UNKNOWN, evidence, where, remedy)
