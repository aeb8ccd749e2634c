"""All variables of a site: what the components make of it, and the user's own.

The user's own variables win, mappings key by key: `extra_vars` over what is rendered, `vars` of a
node over both.
"""

from __future__ import annotations

import copy
from secrets import token_hex
from typing import Any

from avadm.artifacts import requirements
from avadm.components import certificates
from avadm.components.catalog import modules
from avadm.inventory.model import STATE_KEY, RenderContext, Variables
from avadm.pki.store import KeyStore
from avadm.site.load import SiteFile

VARIABLES = modules("variables")
"""In the components' order: a later one may add to what an earlier one wrote."""


def variables(site_file: SiteFile, store: KeyStore) -> Variables:
    """Return all variables of a site with these certificates, the user's own merged last."""
    site, out = site_file.site, Variables()
    given = RenderContext(site_file, store)
    out.all["artifacts"] = requirements.variables(site, versions=site_file.profile.versions)
    out.secrets |= certificates.makers(site)
    out.secrets[STATE_KEY] = lambda: token_hex(32)
    for module in VARIABLES:
        module.render(given, out)
    out.all = merged(out.all, site.extra_vars)
    for node in site.nodes:
        own = out.host(node.name)
        # A node's own file beats group_vars/all, so that extra_vars must be merged there as well.
        own = merged(own, {k: v for k, v in site.extra_vars.items() if k in own})
        for key, value in node.vars.items():
            own[key] = merge(own.get(key, out.all.get(key)), value)
        out.hosts[node.name] = own
    return out


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return base with over laid on it: mappings key by key, anything else replaced."""
    return base | {key: merge(base.get(key), value) for key, value in over.items()}


def merge(base: object, over: object) -> object:
    """Return two values merged: mappings key by key, anything else replaced."""
    if isinstance(base, dict) and isinstance(over, dict):
        return merged(base, over)
    return copy.deepcopy(over)
