"""What looks like a secret: one list for our own logs (runner/redact.py) and for the nodes' (role log_shipper)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MASK = "***"
"""What stands in the place of a secret."""


def texts(value: Any) -> Iterator[str]:
    """Yield each value inside mappings and lists as text; a switch is none."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from texts(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of secret, in words that Python's `re` and PCRE read alike.

    Attributes:
        secret: regular expression of what is masked.
        keep: of what stands before it and is kept, with no capturing group; "" for nothing.
        flags: letters for ``(?…)`` at the start: ``i`` any case, ``s`` a dot is also a line's end.
    """

    secret: str
    keep: str = ""
    flags: str = ""

    def compiled(self) -> re.Pattern[str]:
        """Return the expression for Python; group 1 is what is kept, where there is something."""
        head = f"(?{self.flags})" if self.flags else ""
        return re.compile(head + (f"({self.keep})" if self.keep else "") + self.secret)

    def masked(self, text: str) -> str:
        """Return a text with ``***`` for each secret of this kind."""
        return self.compiled().sub(rf"\1{MASK}" if self.keep else MASK, text)

    def pcre(self) -> str:
        r"""Return the expression for PCRE, whose match is the secret alone (``\K`` forgets what is kept)."""
        head = f"(?{self.flags})" if self.flags else ""
        return head + (f"(?:{self.keep})\\K" if self.keep else "") + self.secret


_IS = r"[\"']?\s*[=:]\s*[\"']?"
_WORDS = r"(?:none|null|nil|true|false|unset|missing|required|<[^>\s]{0,40}>)(?![^\s\"',}\])])"
PATTERNS = (
    Pattern(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        flags="s",
    ),
    # cephx keys: base64 of type 1 and a time stamp, 28 bytes in all (ceph's CryptoKey encoding).
    Pattern(r"(?<![A-Za-z0-9+/])AQ[A-Za-z0-9+/]{36}==(?![A-Za-z0-9+/=])"),
    # crypt(3) hashes.
    Pattern(r"\$(?:1|5|6|2[aby]|y)\$[./A-Za-z0-9$=,]{20,}"),
    # Vault text.
    Pattern(r"\$ANSIBLE_VAULT;[0-9.;A-Za-z0-9]+\s*(?:[0-9a-f]{8,}\s*)*"),
    # user:password@ in URLs.
    Pattern(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"),
    # name=value and "name": "value" where the name says it is a secret, and the value is none of the words that say how it is.
    Pattern(
        rf"(?!\*\*\*)(?!{_WORDS})[^\s\"',}}]{{4,}}",
        keep=rf"(?<![a-z])(?:password|passwd|passphrase|secret|api_?key|secret_?key){_IS}",
        flags="i",
    ),
    # Programs of machine learning print tokens of texts by this name too: </s>, <|endoftext|>, 50256, sentence_piece.
    Pattern(
        r"(?=[^\s\"',}]{0,40}[0-9])(?=[^\s\"',}]{0,40}[a-z])[a-z0-9._~+/=:|-]{14,}",
        keep=rf"(?<![a-z])token{_IS}",
        flags="i",
    ),
    # Of these the beginning says what they are.
    Pattern(
        r"\b(?:gh[opsru]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}|AKIA[A-Z0-9]{16})\b"
    ),
)
"""Applied in this order."""

LINE_PATTERNS = (
    # A private key that a program printed comes line by line: its body is masked without the first line in sight.
    # Certificates' bodies look the same and go with it.
    # Lines of keys are 64 characters long, or 70 where OpenSSH wrote them, and have small and large letters and digits, as
    # digests, sequences of bases and rows of one letter have not.
    Pattern(
        r"^(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{62,63}={1,2})$"
    ),
    # A token of Kubernetes or of a web service (JSON Web Token, RFC 7519).
    Pattern(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    # What a client shows of itself in HTTP.
    Pattern(
        r"[A-Za-z0-9._~+/=-]{8,}", keep=r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic)\s+", flags="i"
    ),
)
"""Further ones for single lines of nodes' logs."""
