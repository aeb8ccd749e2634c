"""A ledger in SQLite with its tables, made once in a process and copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ava.store.open import migrate


@cache
def migrated() -> Path:
    """Return the file of a ledger that has its tables and nothing in them; not to be written to."""
    folder = Path(tempfile.mkdtemp(prefix="ava-ledger-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    migrate(f"sqlite:///{folder / 'ledger.db'}")
    return folder / "ledger.db"


def copied(folder: Path, name: str = "ledger.db") -> str:
    """Return the URL of a copy in a folder."""
    shutil.copy(migrated(), folder / name)
    return f"sqlite:///{folder / name}"
