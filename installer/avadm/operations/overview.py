"""What operations left on a site: that it is down, operations that are half done, maintenances, and temporary settings."""

from __future__ import annotations

from typing import Any

from avadm.operations.maintenance import maintenances
from avadm.state.operations import MAINTENANCE
from avadm.state.power import POWER, powered_down
from avadm.state.site_state import SiteState


def overview(state: SiteState, now: float, *, running: bool) -> dict[str, list[dict[str, Any]]]:
    """Return what operations left, JSON-ready.

    Args:
        state: what is recorded of the site.
        now: epoch seconds.
        running: whether a command is at work on the site: what it has begun and set is no leftover.

    Returns:
        power: as ``PowerNote.as_dict``, of a site that was powered down; operations: command, verb, user, since, age_s and
        steps of each that is half done; maintenances: as ``Maintenance.as_dict``; leftovers: kind, target, owner, since and
        age_s of each temporary setting.
    """
    names = set(state.notes())
    left = [
        r
        for r in state.settings()
        if r.temporary or (r.owner.startswith((MAINTENANCE, POWER)) and r.owner not in names)
    ]
    down = powered_down(state)
    return {
        "power": [down.as_dict(now)] if down is not None else [],
        "operations": [
            {
                "command": one.command,
                "verb": one.verb,
                "user": one.user,
                "since": one.started,
                "age_s": round(now - one.started),
                "steps": list(one.steps),
            }
            for one in ([] if running else state.begun())
        ],
        "maintenances": [one.as_dict(now) for one in maintenances(state)],
        "leftovers": [
            {
                "kind": r.kind,
                "target": r.target,
                "owner": r.owner,
                "since": r.since,
                "age_s": round(now - r.since),
            }
            for r in ([] if running else left)
        ],
    }
