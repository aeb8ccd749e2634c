"""All rules over a site file as a whole; each family of rules is a module in rules/."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from avadm.findings import Finding
from avadm.sitefile.rules import (
    accounts,
    cache,
    ceph,
    database,
    devices,
    kubernetes,
    logs,
    networks,
    nodes,
    objects,
    packet_filter,
    roles,
    routes,
    services,
    volumes,
    waivers,
)
from avadm.sitefile.rules.draft import Draft

__all__ = ["Draft", "validate"]

RULES: list[Callable[[Draft], Iterator[Finding]]] = [
    *networks.RULES,
    *nodes.RULES,
    *devices.RULES,
    *roles.RULES,
    *ceph.RULES,
    *kubernetes.RULES,
    *routes.RULES,
    *packet_filter.RULES,
    *volumes.RULES,
    *objects.RULES,
    *database.RULES,
    *cache.RULES,
    *accounts.RULES,
    *logs.RULES,
    *services.RULES,
    *waivers.RULES,
]


def validate(draft: Draft) -> list[Finding]:
    """Return what every rule finds."""
    return [finding for rule in RULES for finding in rule(draft)]
