"""What the command line remembers: which AVA, by which certificates, and the token, which no other user can read."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ava.domain.compat import dataclass
from ava.domain.problems import ApiError, Problem


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """What is remembered.

    Attributes:
        server: ``https://HOST[:PORT]``.
        ca: file of the authority's certificates.
        name: who is logged in.
        token: theirs.
    """

    server: str | None = None
    ca: str | None = None
    name: str | None = None
    token: str | None = None


def path() -> Path:
    """Return the file: below XDG_CONFIG_HOME or ~/.config."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "ava" / "login.json"


def load() -> SavedLogin:
    """Return what is remembered; ApiError where others can read the file or it cannot be understood."""
    file = path()
    try:
        mode = file.stat().st_mode
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return SavedLogin()
    except (OSError, ValueError) as error:
        raise _broken(file, str(error)) from error
    if mode & 0o077:
        raise ApiError(
            400,
            Problem(
                "token-readable",
                "Others can read your token.",
                str(file),
                f"mode {mode & 0o777:04o}",
                "mode 0600",
                f"chmod 600 {file}; if somebody may have read it, `ava logout` and log in again.",
            ),
        )
    if not isinstance(data, dict) or not all(v is None or isinstance(v, str) for v in data.values()):
        raise _broken(file, "something else")
    return SavedLogin(**{k: data.get(k) for k in ("server", "ca", "name", "token")})


def save(settings: SavedLogin) -> Path:
    """Keep them, whole or not at all; the token is readable for its owner alone from the first moment."""
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".login-")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(asdict(settings), out)
    Path(name).replace(file)
    return file


def _broken(file: Path, found: str) -> ApiError:
    problem = Problem(
        "settings-broken",
        "What was remembered of your login cannot be read.",
        str(file),
        found,
        "JSON",
        "Log in again: `ava login`.",
    )
    return ApiError(400, problem)
