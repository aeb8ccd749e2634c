"""Where the login password comes from: never from argv, never into a log."""

from __future__ import annotations

from pathlib import Path

from avadm.errors import AvadmError

ENV = "AVADM_SSH_PASSWORD"


def from_file(path: Path) -> str:
    """Return the first line of a password file.

    Raises:
        AvadmError: it cannot be read, is empty, or others can read it.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not text"
        raise AvadmError.of("password-file-unreadable", where=str(path), reason=reason) from e
    if mode & 0o077:
        raise AvadmError.of(
            "password-file", where=str(path), found=f"mode {mode & 0o777:04o}", wanted="0600", file=path
        )
    password = text.split("\n", 1)[0].rstrip("\r")
    if not password:
        raise AvadmError.of("password-file-empty", where=str(path))
    return password
