"""What the state knows as bootstrapped, as the roles are given it: no one recreates what was bootstrapped once and is gone.

The node's own mark (plugins/module_utils/avadm_bootstrap_mark.py) says the same; the state's also holds for a node that was
reinstalled. These variables are no input of a phase's digest: they come from what the phase itself did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from avadm.components.catalog import COMPONENTS
from avadm.errors import AvadmError
from avadm.remote.managed_resources import BOOTSTRAPPED, kind
from avadm.site.model import Site
from avadm.state.site_state import PhaseState, SiteState

LEGACY = "done"
"""Identity of what an avadm without marks installed (avadm_etcd_bootstrap.LEGACY)."""
EARLIER = "an earlier release of avadm"
"""The name of a node that is none: somewhere something was bootstrapped, and no node is known to have had it."""


ALL = {component.name: component.bootstrap for component in COMPONENTS if component.bootstrap}
"""Phase to what it bootstraps."""


def keep(site_state: SiteState, host: str | None, items: tuple[str, ...]) -> None:
    """Record what a task's result says is bootstrapped on a host, at once: the run may be killed before its end."""
    for item in items:
        if host and kind(item) == BOOTSTRAPPED:
            _, name, identity = item.split(" ", 2)
            site_state.found(name, host, identity)


def variables(site_state: SiteState, site: Site) -> dict[str, Any]:
    """Return the variables of all nodes that tell what was bootstrapped where."""
    found: dict[str, Any] = {}
    for phase, one in ALL.items():
        marks = site_state.bootstrapped(one.mark)
        if not marks:
            homes = site.nodes if one.alone else site.with_role(one.group)
            done = [n.name for n in homes if site_state.entry(phase, n.name).state is PhaseState.DONE]
            marks = dict.fromkeys(done if one.alone else [EARLIER] * bool(done), LEGACY)
        if marks:
            found[f"{one.role}_bootstrapped"] = marks
    return found


def replacing(site: Site, phases: tuple[str, ...], node: str) -> Mapping[str, dict[str, Any]]:
    """Return the variables, by node, that let one node's lost part be recreated.

    Raises:
        AvadmError: not exactly one phase was named that bootstraps something on this node.
    """
    chosen = ALL.get(phases[0]) if len(phases) == 1 else None
    names = [n.name for n in site.with_role(chosen.group)] if chosen else []
    if chosen is None or node not in names:
        raise AvadmError.of(
            "replace-what",
            where="--replace",
            found=f"phase {', '.join(phases) or 'none'}, node {node}",
            wanted="one phase of "
            + "; ".join(f"{p}: {', '.join(n.name for n in site.with_role(o.group))}" for p, o in ALL.items()),
        )
    return {node: {f"{chosen.role}_replace": True}}
