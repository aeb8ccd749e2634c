"""What is kept but never given back in the clear (Fernet), and what comes back from a client as it was given (HMAC)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

from cryptography.fernet import Fernet, MultiFernet

from ava.settings import ConfigError


class Sealer:
    """Seals texts. The first key seals, all of them open, so that a key can be changed.

    Args:
        keys: Fernet keys, base64.

    Raises:
        ValueError: a key is none.
    """

    def __init__(self, keys: list[bytes]) -> None:
        self._box = MultiFernet([Fernet(key) for key in keys])
        self._mark = hmac.digest(base64.urlsafe_b64decode(keys[0]), b"ava: marks of cursors", "sha256")

    def seal(self, text: str) -> str:
        """Return the sealed text; only who has the key reads it."""
        return self._box.encrypt(text.encode()).decode("ascii")

    def open(self, sealed: str, within: int | None = None) -> str:
        """Return the text; cryptography.fernet.InvalidToken where it was not sealed with a key of ours, or too long ago.

        ``within`` is in seconds; None: it does not grow old.
        """
        return self._box.decrypt(sealed.encode("ascii"), within).decode()

    def mark(self, text: str) -> str:
        """Return a mark by which a text is known to be ours: 22 characters of base64."""
        digest = hmac.digest(self._mark, text.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest[:16]).decode("ascii").rstrip("=")

    def is_ours(self, text: str, mark: str) -> bool:
        """Whether the mark is that of the text; takes the same time whatever it is."""
        return hmac.compare_digest(self.mark(text).encode(), mark.encode("utf-8", "replace"))


def sealer(path: Path) -> Sealer:
    """Return the sealer with a file's keys, one a line; ConfigError where the file is of no use or others read it."""
    try:
        if path.stat().st_mode & 0o007:
            raise ConfigError(f"{path}: everybody may read it; wanted: mode 0600 or 0640")
        keys = [line.strip() for line in path.read_bytes().split(b"\n") if line.strip()]
        if not keys:
            raise ConfigError(
                f"{path}: holds no key; make one with `python -m ava.api.admin sealing-key FILE`"
            )
        return Sealer(keys)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: no sealing key can be read from it: {error}") from error
