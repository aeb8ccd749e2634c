"""Rules over waivers: each names nodes and a check that exist."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import get_args

from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.errors import nearest
from avadm.site.model import CheckId


def known_nodes(draft: Draft) -> Iterator[Finding]:
    """Each part of a waiver's nodes is `all`, a role, or fits a node's name."""
    site = draft.site
    for i, waiver in enumerate(site.waivers):
        for j, part in enumerate(waiver.nodes):
            if not draft.ok("waivers", i, "nodes", j) or part == "all":
                continue
            if not any(fnmatchcase(n.name, part) or part in n.roles for n in site.nodes):
                yield draft.finding(
                    "waiver-nodes",
                    ("waivers", i, "nodes", j),
                    part,
                    "a node's name, a pattern of names, a role of some node, or all",
                )


def ended(draft: Draft) -> Iterator[Finding]:
    """A waiver has its last day before it (preflight and the doctor make an error of one that has not)."""
    today = datetime.now(tz=UTC).date()
    for i, waiver in enumerate(draft.site.waivers):
        if draft.ok("waivers", i) and waiver.until < today:
            yield draft.finding(
                "waiver-ended",
                ("waivers", i, "until"),
                waiver.until,
                "a day to come",
                check_id=waiver.check,
                scope=waiver.scope,
                who=waiver.who,
            )


def known_checks(draft: Draft) -> Iterator[Finding]:
    """A check of preflight with its scope exists; the doctor's checks are of a higher layer (`avadm/doctor/waivers.py`)."""
    known = sorted(get_args(CheckId))
    for i, waiver in enumerate(draft.site.waivers):
        if draft.ok("waivers", i) and waiver.scope == "preflight" and waiver.check_id not in known:
            yield draft.finding(
                "waiver-check",
                ("waivers", i, "check"),
                waiver.check,
                "a check of `avadm preflight --list`",
                scope=waiver.scope,
                remedy=nearest(waiver.check_id, known),
            )


RULES = [known_nodes, ended, known_checks]
