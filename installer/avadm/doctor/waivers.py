"""The doctor's findings against the site's waivers: those that stand, and those that are waived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from avadm.checks import waivers
from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, flat, rows, run
from avadm.checks.waivers import Waived
from avadm.doctor.checks import CHECKS
from avadm.findings import Finding
from avadm.site.load import SiteFile

WAIVERS = Check(waivers.ID, waivers.TITLE, (), lambda _: (), scope="all", topic="site")
"""What is found of waivers themselves; no one can choose it, or waive it."""
KNOWN = frozenset(c.id for c in CHECKS)


@dataclass(frozen=True)
class Judgement:
    """What the checks found in a snapshot.

    Attributes:
        checks: those that were judged, and that of the waivers where there are any.
        stands: the findings that count.
        waived: the findings that stop nothing.
    """

    checks: Sequence[Check]
    stands: list[Finding]
    waived: list[Waived]

    def rows(self) -> list[dict[str, object]]:
        """Return the findings as JSON-ready data."""
        return rows(self.stands, self.checks, self.waived)


def judge(snapshot: Snapshot, checks: Sequence[Check]) -> Judgement:
    """Judge a snapshot, with the waivers that it has of its site file, as of the day on which it was taken."""
    given = snapshot.site.waivers
    nodes = {n.name for n in snapshot.site.nodes}
    scope = {c.id: c.scope for c in checks}
    found = {
        check: [replace(f, host=_node(f, scope[check], nodes)) for f in findings]
        for check, findings in run(snapshot, checks).items()
    }
    asked = [name for name, facts in snapshot.nodes.items() if not facts.silent]
    today = datetime.fromtimestamp(snapshot.taken, tz=UTC).date()
    stands, waived = waivers.apply(found, given, asked, today, KNOWN)
    shown = [*checks, WAIVERS] if given else checks
    return Judgement(shown, flat(stands), [w for some in waived.values() for w in some])


def unknown_checks(site_file: SiteFile) -> list[Finding]:
    """Return a finding for each waiver of a check that the doctor does not have."""
    found = waivers.of_scope(site_file, "doctor")
    return [waivers.unknown(waiver, KNOWN) for waiver in found if waiver.check_id not in KNOWN]


def _node(finding: Finding, scope: str, nodes: set[str]) -> str | None:
    """Return the node that a finding is about; the witness that answered for the whole site is none."""
    if scope == "node":
        return finding.host
    return finding.where if finding.where in nodes else None
