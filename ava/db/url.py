"""Where the database is, as the settings of each process say it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

from pydantic import Field

from ava.settings import Strict

CONNECT_S = 5
"""Seconds that PostgreSQL may take to answer a connection."""


class DatabaseUrl(Strict):
    """Where the database is: a URL without password (SQLite for tests), or PostgreSQL's parts.

    Attributes:
        host: or several, by commas; the one that takes writes is used.
        passfile: libpq's password file; the password is never part of a URL.
        ca: certificates of the server's authority; with it the server's name is verified.
    """

    url: str | None = None
    host: str = "localhost"
    port: Annotated[int, Field(ge=1, le=65535)] = 5432
    name: str = "ava"
    user: str = "ava"
    passfile: Path | None = None
    ca: Path | None = None

    def address(self) -> str:
        """Return the URL that `ava.db.database.open_database` understands; it holds no password."""
        if self.url is not None:
            return self.url
        options = {"connect_timeout": str(CONNECT_S), "target_session_attrs": "read-write"}
        if self.passfile is not None:
            options["passfile"] = str(self.passfile)
        if self.ca is not None:
            options |= {"sslmode": "verify-full", "sslrootcert": str(self.ca)}
        where = f"{quote(self.host, safe='[],:')}:{self.port}/{quote(self.name, safe='')}"
        return f"postgresql://{quote(self.user, safe='')}@{where}?{urlencode(options)}"
