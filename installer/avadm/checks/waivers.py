"""Waivers of the site file: findings that the site lives with for a while, shown with who, why and until when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.site.load import SiteFile
from avadm.site.model import Site, Waiver

ID = "waivers"
TITLE = "waivers hold and are needed"


@dataclass(frozen=True, slots=True)
class Waived:
    """A finding that stops nothing, and the waiver by which."""

    finding: Finding
    waiver: Waiver

    def as_dict(self) -> dict[str, str | None]:
        """Return the finding as JSON-ready data, with who answers for it, why, and until when."""
        waiver = self.waiver
        return {
            **self.finding.as_dict(),
            "who": waiver.who,
            "why": waiver.why,
            "until": waiver.until.isoformat(),
        }


def nodes(waiver: Waiver, site: Site) -> set[str]:
    """Return the names of the nodes that a waiver speaks of."""
    return {
        n.name
        for n in site.nodes
        for part in waiver.nodes
        if part == "all" or fnmatchcase(n.name, part) or part in n.roles
    }


def apply(
    found: Mapping[str, list[Finding]], site_file: SiteFile, asked: Collection[str], today: date
) -> tuple[dict[str, list[Finding]], dict[str, list[Waived]]]:
    """Part findings into those that stand and those that are waived.

    Args:
        found: check id to its findings.
        site_file: the site file with its waivers.
        asked: names of the nodes that were asked.
        today: the day; a waiver holds on its last day too.

    Returns:
        What stands, by check (with a check ``waivers`` of its own where there are any), and what is waived.
    """
    site = site_file.site
    stands = {check: list(findings) for check, findings in found.items()}
    waived: dict[str, list[Waived]] = {}
    own: list[Finding] = []
    for i, waiver in enumerate(site.waivers):
        where = site_file.where(("waivers", i))
        if waiver.until < today:
            own.append(_expired(waiver, where))
            continue
        if waiver.check not in stands:
            continue  # that check was not asked for
        named = nodes(waiver, site)
        taken = [f for f in stands[waiver.check] if (f.host in named if f.host else "all" in waiver.nodes)]
        if not taken and named <= set(asked):
            own.append(_unused(waiver, where))
        waived.setdefault(waiver.check, []).extend(Waived(f, waiver) for f in taken)
        stands[waiver.check] = [f for f in stands[waiver.check] if f not in taken]
    if site.waivers:
        stands[ID] = own
    return stands, waived


def _expired(waiver: Waiver, where: str) -> Finding:
    return finding(
        "waivers-ended",
        where=where,
        found=f"until {waiver.until}",
        wanted="a day to come",
        check_id=waiver.check,
        names=", ".join(waiver.nodes),
        who=waiver.who,
    )


def _unused(waiver: Waiver, where: str) -> Finding:
    return finding(
        "waivers-unused",
        where=where,
        found="no such finding",
        check_id=waiver.check,
        names=", ".join(waiver.nodes),
    )
