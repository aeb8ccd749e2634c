"""The doctor's checks: CHECKS of each component's ``checks``, and those of no single component."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check
from avadm.components.catalog import modules
from avadm.doctor.checks import certificates, journal, risks, services
from avadm.errors import AvadmError

CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (*modules("checks"), services, certificates, risks, journal)
    for check in module.CHECKS
)


def choose(wanted: Collection[str]) -> Sequence[Check]:
    """Return the checks with these ids or topics, all where none is named.

    Raises:
        AvadmError: a name is neither a check nor a topic.
    """
    known = {c.id for c in CHECKS} | {c.topic for c in CHECKS}
    if strange := [w for w in wanted if w not in known]:
        near = [n for w in strange for n in get_close_matches(w, sorted(known), n=1)]
        remedy = f"Did you mean {', '.join(near)}?" if near else "`avadm doctor --list` shows all."
        topics = ", ".join(sorted({c.topic for c in CHECKS}))
        raise AvadmError.of(
            "unknown-check-or-topic",
            where="--only",
            found=", ".join(strange),
            wanted=f"a topic: {topics}",
            remedy=remedy,
        )
    return [c for c in CHECKS if not wanted or c.id in wanted or c.topic in wanted]


def relevant(snapshot: Snapshot, checks: Sequence[Check]) -> Sequence[Check]:
    """Return the checks that say something of a site: of one that was powered down on purpose that it is."""
    if snapshot.operations is None or not snapshot.operations.get("power"):
        return checks
    return [check for check in CHECKS if check.id == services.OPERATIONS]
