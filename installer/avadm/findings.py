"""Findings: what a check or a validation found, as data; printing is elsewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters: an ``error`` stops the verb, a ``warning`` does not; ``unknown``: nothing could be seen."""

    ERROR = "error"
    UNKNOWN = "unknown"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be (or, as ``info``, worth telling).

    Attributes:
        check: identifier of the rule or check, kebab-case, e.g. ``cidr-overlap``.
        what: one sentence saying what is wrong.
        where: file:line, host, or key path; as exact as is known.
        found: the value that was found, as text.
        wanted: the value or range that is right, as text.
        remedy: what the reader should do, as an imperative sentence.
        severity: see Severity.
        host: node name when the finding is about one node.
    """

    check: str
    what: str
    where: str = ""
    found: str = ""
    wanted: str = ""
    remedy: str = ""
    severity: Severity = Severity.ERROR
    host: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """Return the finding as JSON-ready data."""
        return {k: (str(v) if isinstance(v, StrEnum) else v) for k, v in asdict(self).items()}


def errors(findings: list[Finding]) -> list[Finding]:
    """Return only the findings that stop a verb."""
    return [f for f in findings if f.severity is Severity.ERROR]
