"""Files for their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

MODE = 0o600


def write_private(path: Path, content: bytes) -> None:
    """Write a file for the owner alone: whole or not at all, and readable by others at no moment."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
