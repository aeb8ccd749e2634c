"""Accounts of Kubernetes: the variables of kube_addons, and a kubeconfig for each."""

from __future__ import annotations

from collections.abc import Mapping

from avadm.components.masters.component import accounts as account_leaves
from avadm.components.masters.variables import MARK, api_url, b64, keep_private, kubeconfig, kubeconfig_path
from avadm.inventory.model import RenderContext, Variables
from avadm.pki.certs import pem_of
from avadm.pki.store import KeyStore
from avadm.site.model import Site


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the accounts; nothing where the site has no masters."""
    site = given.site
    if site.with_role("master"):
        out.all["kube_addons_accounts"] = [a.model_dump() for a in site.components.kubernetes.accounts]


def keep_files(site: Site, store: KeyStore, keys: Mapping[str, str]) -> None:
    """Keep `SITE.account-NAME.kubeconfig` beside the site file, 0600, for each account and no other."""
    kept = set()
    if site.with_role("master"):
        for account, leaf in zip(site.components.kubernetes.accounts, account_leaves(site), strict=True):
            path = kubeconfig_path(store, leaf.name)
            key = b64(pem_of(keys[leaf.key]))
            namespace = next(iter(account.namespaces), "default")
            keep_private(path, kubeconfig(store, api_url(site), key, leaf.name, namespace))
            kept.add(path)
    pattern = kubeconfig_path(store, "account-*")
    for path in pattern.parent.glob(pattern.name):
        # Somebody's own file may be called so too.
        if path not in kept and path.read_text(errors="replace").startswith(MARK):
            path.unlink()
