"""Which certificates a site needs, and making them.

A node has one key for each of its parts in the cluster (etcd, control plane, node), not for each certificate: anyone who
has one of a part's files has the others too, and 256 nodes need fewer keys than certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from avadm.components.catalog import COMPONENTS
from avadm.pki import certs
from avadm.pki.model import SERVICE_ACCOUNTS, Authority, Leaf, key_variable
from avadm.pki.store import KeyStore
from avadm.site.model import Site


def leaves(site: Site) -> list[Leaf]:
    """Return every certificate of the site."""
    return [leaf for component in COMPONENTS if component.leaves for leaf in component.leaves(site)]


def owners(site: Site) -> list[str]:
    """Return whose keys the site needs beside the authorities', each once."""
    found = list(dict.fromkeys(leaf.owner for leaf in leaves(site)))
    return [*found, SERVICE_ACCOUNTS] if site.with_role("master") else found


def authorities(site: Site) -> list[Authority]:
    """Return the authorities that the site's certificates need, each once."""
    return list(dict.fromkeys(leaf.authority for leaf in leaves(site)))


def makers(site: Site) -> dict[str, Callable[[], str]]:
    """Return the vault variables that hold the site's private keys, with what makes each."""
    names = [one.key for one in authorities(site)] + [key_variable(o) for o in owners(site)]
    return dict.fromkeys(names, certs.new_key)


def issue(store: KeyStore, site: Site, keys: Mapping[str, str], at: datetime | None = None) -> KeyStore:
    """Return a site's certificates: what is missing, wrong, or has less than a third of its life left is made.

    Args:
        store: the certificates that there are; those that are no longer needed are left out.
        site: the site.
        keys: the vault's secrets.
        at: the time; now where None.

    Returns:
        The store itself where nothing has to change; else another one, which is not saved yet.
    """
    at = at or certs.now()
    wanted = leaves(site)
    if not wanted:
        return store
    signers = dict(store.authorities)
    for one in authorities(site):
        held = signers.setdefault(one, [])
        if not held or not certs.certifies(held[0], keys[one.key]) or certs.due_for_renewal(held[0], at):
            # The same key and name: what the former one signed stays good, and nodes may have either.
            signers[one] = [certs.authority(f"{site.name} {one}", keys[one.key], at)]
    days = site.components.kubernetes.certificate_days
    kept = {leaf.name: _current(store, signers, leaf, keys, at, days) for leaf in wanted}
    public = ""
    if (key := key_variable(SERVICE_ACCOUNTS)) in keys:
        public = certs.public_pem(keys[key])
    issued = KeyStore(store.path, signers, kept, public)
    return store if issued.as_json() == store.as_json() else issued


def _current(
    store: KeyStore,
    signers: Mapping[str, list[str]],
    leaf: Leaf,
    keys: Mapping[str, str],
    at: datetime,
    days: int,
) -> str:
    """Return a certificate that is good: the one that is kept, or a new one."""
    pem = store.leaf(leaf.name)
    key, by = keys[leaf.key], keys[leaf.authority.key]
    if pem and certs.certifies(pem, key) and certs.says(pem, leaf, by) and not certs.due_for_renewal(pem, at):
        return pem
    return certs.leaf(leaf, key, signers[leaf.authority][0], by, at, days)
