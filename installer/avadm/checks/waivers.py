"""Waivers of the site file: findings that the site lives with for a while, shown with who, why and until when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from avadm.catalogue import finding
from avadm.checks.evidence import SiteWaiver
from avadm.findings import Finding, Severity
from avadm.site.errors import nearest
from avadm.site.load import SiteFile

ID = "waivers"
TITLE = "waivers hold and are needed"
WAIVABLE = (Severity.ERROR, Severity.WARNING)
"""What is not known is not accepted: it may be anything."""


@dataclass(frozen=True, slots=True)
class Waived:
    """A finding that stops nothing, and the waiver by which."""

    finding: Finding
    waiver: SiteWaiver

    def as_dict(self) -> dict[str, str | None]:
        """Return the finding as JSON-ready data, with who answers for it, why, and until when."""
        waiver = self.waiver
        return {
            **self.finding.as_dict(),
            "who": waiver.who,
            "why": waiver.why,
            "until": waiver.until.isoformat(),
        }


def of_scope(site_file: SiteFile, scope: str) -> tuple[SiteWaiver, ...]:
    """Return the waivers of a verb's findings: ``preflight`` or ``doctor``."""
    return tuple(
        SiteWaiver(
            check=waiver.check,
            scope=scope,
            check_id=waiver.check_id,
            nodes=tuple(waiver.nodes),
            named=tuple(
                n.name
                for n in site_file.site.nodes
                if any(part == "all" or fnmatchcase(n.name, part) or part in n.roles for part in waiver.nodes)
            ),
            who=waiver.who,
            why=waiver.why,
            until=waiver.until,
            where=site_file.where(("waivers", i)),
        )
        for i, waiver in enumerate(site_file.site.waivers)
        if waiver.scope == scope
    )


def apply(
    found: Mapping[str, list[Finding]],
    waivers: Sequence[SiteWaiver],
    asked: Collection[str],
    today: date,
    known: Collection[str],
) -> tuple[dict[str, list[Finding]], dict[str, list[Waived]]]:
    """Part findings into those that stand and those that are waived.

    Args:
        found: check id to its findings.
        waivers: those of the verb that found them.
        asked: names of the nodes that were asked.
        today: the day; a waiver holds on its last day too.
        known: ids of all checks of the verb.

    Returns:
        What stands, by check (with a check ``waivers`` of its own where there are any), and what is waived.
    """
    stands = {check: list(findings) for check, findings in found.items()}
    waived: dict[str, list[Waived]] = {}
    own: list[Finding] = []
    for waiver in waivers:
        if waiver.check_id not in known:
            own.append(unknown(waiver, known))
            continue
        if waiver.until < today:
            own.append(_expired(waiver))
            continue
        if waiver.check_id not in stands:
            continue  # that check was not asked for
        here = [f for f in stands[waiver.check_id] if _concerns(waiver, f)]
        taken = [f for f in here if f.severity in WAIVABLE]
        blind = any(f.severity is Severity.UNKNOWN for f in here)
        if not taken and not blind and set(waiver.named) <= set(asked):
            own.append(_unused(waiver))
        waived.setdefault(waiver.check_id, []).extend(Waived(f, waiver) for f in taken)
        stands[waiver.check_id] = [f for f in stands[waiver.check_id] if f not in taken]
    if waivers:
        stands[ID] = own
    return stands, waived


def unknown(waiver: SiteWaiver, known: Collection[str]) -> Finding:
    """Return the finding for a waiver of a check that its verb does not have."""
    return finding(
        "waivers-unknown",
        where=waiver.where,
        found=waiver.check,
        wanted=f"a check of `avadm {waiver.scope} --list`",
        check_id=waiver.check,
        scope=waiver.scope,
        remedy=nearest(waiver.check_id, sorted(known)),
    )


def _concerns(waiver: SiteWaiver, found: Finding) -> bool:
    return found.host in waiver.named if found.host else "all" in waiver.nodes


def _expired(waiver: SiteWaiver) -> Finding:
    return finding(
        "waivers-ended",
        where=waiver.where,
        found=f"until {waiver.until}",
        wanted="a day to come",
        check_id=waiver.check,
        names=", ".join(waiver.nodes),
        who=waiver.who,
    )


def _unused(waiver: SiteWaiver) -> Finding:
    return finding(
        "waivers-unused",
        where=waiver.where,
        found="no such finding",
        check_id=waiver.check,
        names=", ".join(waiver.nodes),
    )
