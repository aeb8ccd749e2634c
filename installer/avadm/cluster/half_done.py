"""Operations that were begun and have not ended: what they block, and what continues them."""

from __future__ import annotations

import time
from collections.abc import Collection

from avadm.catalogue import finding
from avadm.findings import Finding
from avadm.quantity import quantity
from avadm.state.power import POWER, powered_down
from avadm.state.site_state import SiteState


def half_done(state: SiteState, components: Collection[str], command: str = "") -> list[Finding]:
    """Return the operations that must be ended before these components are changed by another command.

    A site that was powered down on purpose is changed by `avadm power` alone.
    """
    if (note := powered_down(state)) is not None and not command.startswith(f"avadm {POWER} "):
        return [finding("powered-down", where=note.command, found=note.words)]
    found = []
    for one in state.begun():
        if one.command != command and set(one.components) & set(components):
            since = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.started))
            done = f"{quantity(len(one.steps), 'step')} done, begun by {one.user} at {since}"
            found.append(finding("operation-half-done", where=one.command, found=done, command=one.command))
    return found
