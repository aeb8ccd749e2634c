"""The least that a node's machine must have: its roles' minima, of the profile and of the site file."""

from __future__ import annotations

from typing import Any

from avadm.site.model import Hardware, HardwareRole, Node, Site
from avadm.site.profile import Profile


def minimum(site: Site, profile: Profile, node: Node) -> Hardware:
    """Return the largest of the minima of a node's roles; the site file's figure goes before the profile's."""
    largest: dict[str, Any] = {}
    for role in kinds(node):
        policy = profile.hardware.get(role, Hardware()).model_dump(exclude_unset=True)
        policy |= site.hardware.get(role, Hardware()).model_dump(exclude_unset=True)
        for key, value in policy.items():
            if value is not None:
                largest[key] = max(largest.get(key, value), value, key=_amount)
    return Hardware.model_validate(largest)


def kinds(node: Node) -> list[HardwareRole]:
    """Return the roles by which a node is measured; `cpu` is no role of its own."""
    found: list[HardwareRole] = [*node.roles]
    if "worker" in node.roles and not {"gpu", "master", "dns"} & set(node.roles):
        found.append("cpu")
    return found


def _amount(value: float | list[int]) -> float:
    return sum(value) if isinstance(value, list) else value
