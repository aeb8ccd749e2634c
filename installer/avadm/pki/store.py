"""Where the site's certificates are kept, and which must be recreated."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from avadm.errors import AvadmError
from avadm.pki.model import Authority
from avadm.private_files import write_private


@dataclass(frozen=True, slots=True)
class KeyStore:
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
    def open(cls, site_path: Path) -> KeyStore:
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
            raise AvadmError.of(
                "pki-unreadable",
                where=str(path),
                found=f"{type(error).__name__}: {error}",
                wanted="what avadm wrote",
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

    def save(self) -> None:
        """Write the file (0600); AvadmError where that fails."""
        try:
            write_private(self.path, self.as_json().encode())
        except OSError as error:
            raise AvadmError.of(
                "pki-unwritable",
                where=str(self.path),
                found=error.strerror or str(error),
                wanted="a folder of one's own",
            ) from error
