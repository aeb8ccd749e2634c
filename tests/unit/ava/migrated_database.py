"""A database in SQLite with its tables, made once in a process and copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ava.db.database import migrate


@cache
def migrated() -> Path:
    """Return the file of a database that has its tables and nothing in them; not to be written to."""
    folder = Path(tempfile.mkdtemp(prefix="ava-database-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    migrate(f"sqlite:///{folder / 'database.db'}")
    return folder / "database.db"


def copied(folder: Path, name: str = "database.db") -> str:
    """Return the URL of a copy in a folder."""
    shutil.copy(migrated(), folder / name)
    return f"sqlite:///{folder / name}"
