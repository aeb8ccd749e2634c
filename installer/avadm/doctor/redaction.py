"""Taking secrets out of what leaves the site: more than logs need, since a bundle is read by strangers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from avadm.remote.redact import Redactor
from avadm.secret_patterns import MASK
from avadm.site.load import SiteFile
from avadm.site.vault import Vault

_NAMES = (
    r"passw(?:or)?d|passphrase|secret|token|api[-_]?key|"
    r"(?:secret|private|access|encryption)[-_]?key(?:[-_]?id)?|credentials?"
)

# Group 1, where there is one, stays.
_PATTERNS = (
    # Base64 of a private key's first line, of each kind (kubeconfig, Secrets): what follows is the key.
    re.compile(r"()LS0tLS1CRUdJTi(?:BSU0E|BQUklWQVRF|BFQyBQ|BPUEVOU1NI|BFTkNSWVBU|BEU0Eg)[A-Za-z0-9+/=\s]*"),
    re.compile(r"(key-data[\"']?\s*:\s*[\"']?)[A-Za-z0-9+/=]{16,}"),
    # JSON web tokens (service accounts).
    re.compile(r"()\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    re.compile(r"(?i)((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:basic |bearer )?)[^\s\"',]{4,}"),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{12,}"),
    # Tokens with which nodes join (ID.SECRET).
    re.compile(r"()\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),
    # Keys of S3.
    re.compile(r"()\bAKIA[0-9A-Z]{16}\b"),
    # A quoted value may hold blanks; inside JSON of JSON its quotes have backslashes.
    re.compile(rf"(?i)((?:{_NAMES})[\\\"']*\s*[=:]\s*\\*\")(?!\*\*\*)[^\"\\\n]+"),
    re.compile(rf"(?i)((?:{_NAMES})[\"']?\s*[=:]\s*')(?!\*\*\*)[^'\n]+"),
    # name=value, name: value, "name": "value", --name=value; in camel case and with hyphens too.
    re.compile(rf"(?i)((?:{_NAMES})[\"']?\s*[=:]\s*[\"']?)(?!\*\*\*)[^\s\"',}}]{{4,}}"),
    re.compile(r"(?i)([?&](?:sig|signature|key|auth|x-amz-[\w-]+)=)[^&\s\"']+"),
    # Configurations that part name and value by blanks (keepalived, haproxy, ldap).
    re.compile(r"(?im)^([ \t]*(?:auth_pass|password|requirepass|stats auth|bindpw|secret)\s+)\S+"),
    # Receivers of alerts: anyone who knows the path may write there.
    re.compile(r"(?i)((?:webhook|slack|api)[\w-]*url[\"']?\s*[:=]\s*[\"']?https?://[^/\s\"']+/)[^\s\"']+"),
)


class Cleaner(Redactor):
    """A Redactor that knows more patterns, and counts what it has masked.

    Attributes:
        masked: how many places have been masked so far.
    """

    def __init__(self, secrets: Iterable[Any] = ()) -> None:
        super().__init__(secrets)
        self.masked = 0

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        before = text.count(MASK)
        text = super().text(text)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\g<1>{MASK}", text)
        self.masked += max(0, text.count(MASK) - before)
        return text


def secrets_of(site_file: SiteFile) -> list[str]:
    """Return every secret value that the controller knows: vault, its password, the webhook (a site file holds no others).

    Raises:
        AvadmError: the vault cannot be opened; then no one can say that a bundle holds none of it.
    """
    vault = Vault.open(site_file.path)
    found = list(vault.values())
    if vault.path.exists() and vault.password_file.is_file():
        found.append(vault.password_file.read_text(encoding="utf-8", errors="replace").strip())
    webhook = site_file.site.components.monitoring.webhook_url
    found += [webhook] if webhook else []
    return [text for text in found if text]
