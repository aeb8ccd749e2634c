"""Which certificates a site needs, and making them.

A node has one key for each of its parts in the cluster (etcd, control plane, node), not for each certificate: whoever
has one of a part's files has the others too, and 256 nodes need fewer keys than certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from avadm.components.catalog import COMPONENTS
from avadm.errors import AvadmError
from avadm.pki import certs
from avadm.pki.model import SERVICE_ACCOUNTS, Authority, Leaf, key_variable
from avadm.pki.store import KeyStore
from avadm.private_files import write_private
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


def issue(store: KeyStore, site: Site, keys: Mapping[str, str], at: datetime | None = None) -> bool:
    """Make what is missing, wrong, or has less than a third of its life left; forget what no one needs.

    Args:
        store: the certificates; kept on disk where any changed.
        site: the site.
        keys: the vault's secrets.
        at: the time; now where None.

    Returns:
        Whether anything changed.
    """
    at = at or certs.now()
    wanted = leaves(site)
    if not wanted:
        return False
    before = store.as_json()
    for one in authorities(site):
        held = store.authorities.setdefault(one, [])
        if not held or not certs.certifies(held[0], keys[one.key]) or certs.short_lived(held[0], at):
            # The same key and name: what the former one signed stays good, and nodes may have either.
            held[:] = [certs.authority(f"{site.name} {one}", keys[one.key], at)]
    days = site.components.kubernetes.certificate_days
    kept = {leaf.name: _current(store, leaf, keys, at, days) for leaf in wanted}
    store.leaves.clear()
    store.leaves.update(kept)
    public = ""
    if (key := key_variable(SERVICE_ACCOUNTS)) in keys:
        public = certs.public_pem(keys[key])
    changed = KeyStore(store.path, store.authorities, store.leaves, public)
    text = changed.as_json()
    if text == before:
        return False
    try:
        write_private(store.path, text.encode())
    except OSError as error:
        raise AvadmError.of(
            check="pki-unwritable",
            what="The site's certificates cannot be written.",
            where=str(store.path),
            found=error.strerror or str(error),
            wanted="a folder of one's own",
            remedy="Give the site file's folder to whom runs avadm.",
        ) from error
    return True


def _current(store: KeyStore, leaf: Leaf, keys: Mapping[str, str], at: datetime, days: int) -> str:
    """Return a certificate that is good: the one that is kept, or a new one."""
    pem = store.leaf(leaf.name)
    key, by = keys[leaf.key], keys[leaf.authority.key]
    if pem and certs.certifies(pem, key) and certs.says(pem, leaf, by) and not certs.short_lived(pem, at):
        return pem
    return certs.leaf(leaf, key, store.authorities[leaf.authority][0], by, at, days)
