"""Where the site's certificates are kept, and which must be made anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.pki import certs, plan
from avadm.pki.model import Authority, Leaf, key_variable
from avadm.private import write_private
from avadm.site.model import Site


@dataclass(frozen=True, slots=True)
class Store:
    """The certificates of a site.

    Attributes:
        path: `SITE.pki.json` beside the site file.
        authorities: authority to its certificates, PEM: the one that signs first, then former ones that are still
            trusted while its successor is brought to all nodes.
        leaves: name to certificate, PEM.
        service_accounts: public key that the tokens of service accounts are checked with, PEM.
    """

    path: Path
    authorities: dict[str, list[str]] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)
    service_accounts: str = ""

    @classmethod
    def open(cls, site_path: Path) -> Store:
        """Return the certificates beside a site file; nothing is written.

        Raises:
            AvadmError: the file is there and cannot be read.
        """
        path = site_path.absolute().with_suffix(".pki.json")
        if not path.exists():
            return cls(path)
        try:
            data: Any = json.loads(path.read_text(encoding="utf-8"))
            signers = {str(k): [str(pem) for pem in v] for k, v in data["authorities"].items()}
            given = {str(k): str(v) for k, v in data["certificates"].items()}
            return cls(path, signers, given, str(data["service_accounts"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise AvadmError(
                Finding(
                    "pki-unreadable",
                    "The site's certificates cannot be read.",
                    str(path),
                    f"{type(error).__name__}: {error}",
                    "what avadm wrote",
                    "Restore the file, or move it away: all certificates are then made anew from the vault's keys.",
                )
            ) from error

    def trusted(self, authority: Authority) -> str:
        """Return what is to be trusted of an authority, PEM; "" before the first rendering."""
        return "".join(self.authorities.get(authority, []))

    def leaf(self, name: str) -> str:
        """Return a certificate, PEM; "" before the first rendering."""
        return self.leaves.get(name, "")

    def as_json(self) -> str:
        """Return the file's text."""
        held = {
            "authorities": self.authorities,
            "certificates": self.leaves,
            "service_accounts": self.service_accounts,
        }
        return json.dumps(held, indent=1) + "\n"


def makers(site: Site) -> dict[str, Callable[[], str]]:
    """Return the vault variables that hold the site's private keys, with what makes each."""
    names = [one.key for one in plan.authorities(site)] + [key_variable(o) for o in plan.owners(site)]
    return dict.fromkeys(names, certs.new_key)


def issue(store: Store, site: Site, keys: Mapping[str, str], at: datetime | None = None) -> bool:
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
    wanted = plan.leaves(site)
    if not wanted:
        return False
    before = store.as_json()
    for one in plan.authorities(site):
        held = store.authorities.setdefault(one, [])
        if not held or not certs.certifies(held[0], keys[one.key]) or certs.short_lived(held[0], at):
            # The same key and name: what the former one signed stays good, and nodes may have either.
            held[:] = [certs.authority(f"{site.name} {one}", keys[one.key], at)]
    days = site.components.kubernetes.certificate_days
    kept = {leaf.name: _current(store, leaf, keys, at, days) for leaf in wanted}
    store.leaves.clear()
    store.leaves.update(kept)
    public = ""
    if (key := key_variable(plan.SERVICE_ACCOUNTS)) in keys:
        public = certs.public_pem(keys[key])
    changed = Store(store.path, store.authorities, store.leaves, public)
    text = changed.as_json()
    if text == before:
        return False
    try:
        write_private(store.path, text.encode())
    except OSError as error:
        raise AvadmError(
            Finding(
                "pki-unwritable",
                "The site's certificates cannot be written.",
                str(store.path),
                error.strerror or str(error),
                "a folder of one's own",
                "Give the site file's folder to whom runs avadm.",
            )
        ) from error
    return True


def _current(store: Store, leaf: Leaf, keys: Mapping[str, str], at: datetime, days: int) -> str:
    """Return a certificate that is good: the one that is kept, or a new one."""
    pem = store.leaf(leaf.name)
    key, by = keys[leaf.key], keys[leaf.authority.key]
    if pem and certs.certifies(pem, key) and certs.says(pem, leaf, by) and not certs.short_lived(pem, at):
        return pem
    return certs.leaf(leaf, key, store.authorities[leaf.authority][0], by, at, days)
