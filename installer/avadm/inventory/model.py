"""Rendering a site to Ansible variables: one module per group of roles, all computed on the controller."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from avadm.pki.store import KeyStore
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.site.profile import Profile

STATE_KEY = "vault_state_key"
"""The secret that signs the copies of the state on the nodes (state/replication.py); no role reads it."""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What variables are made from.

    Attributes:
        file: the site file as it was loaded.
        store: the site's certificates.
    """

    file: SiteFile
    store: KeyStore

    @property
    def site(self) -> Site:
        """The site."""
        return self.file.site

    @property
    def profile(self) -> Profile:
        """Its version profile."""
        return self.file.profile


@dataclass(slots=True)
class Variables:
    """Ansible variables made from a site.

    Attributes:
        all: variables of every node.
        hosts: node name to that node's own variables.
        secrets: variables that are secret: kept in the vault file only, never in the inventory.
    """

    all: dict[str, Any] = field(default_factory=dict)
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[str, Any] = field(default_factory=dict)

    def host(self, name: str) -> dict[str, Any]:
        """Return the (mutable) variables of one node."""
        return self.hosts.setdefault(name, {})
