"""Scripts for browsers from published npm packages: each of the version and integrity that a recipe's lock names.

The lock holds no address: packages come from the registry that npm is set to. It is written again, after a change of
package.json, by ``npm install --package-lock-only --omit-lockfile-registry-resolved`` in the recipe's folder.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pydantic import BaseModel, ConfigDict

LISTS = ("package.json", "package-lock.json")
COMMAND = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
"""Installs what the lock names and refuses another checksum; nothing of a package is run."""


class Npm(BaseModel):
    """Step of a recipe: fetch the npm packages of its lock, each of the integrity that it names; nothing of them is run.

    Attributes:
        files: file of a package (``PACKAGE/PATH``) to one of the artifact's files.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str]


def prepare(recipe: Path, target: Path) -> None:
    """Put a recipe's lists into an empty folder."""
    target.mkdir(parents=True)
    for name in LISTS:
        shutil.copy(recipe / name, target / name)


def wrong(recipe: Path) -> list[str]:
    """Return what a lock does not pin: packages without integrity, with an address, or that package.json names otherwise."""
    listed = json.loads((recipe / LISTS[0]).read_text(encoding="utf-8"))
    locked = json.loads((recipe / LISTS[1]).read_text(encoding="utf-8"))["packages"]
    found = []
    for place, package in locked.items():
        if place and not str(package.get("integrity", "")).startswith("sha512-"):
            found.append(f"{place} without a sha512")
        if "resolved" in package:
            found.append(f"{place} with an address")
    for name, version in listed.get("dependencies", {}).items():
        held = locked.get(f"node_modules/{name}", {}).get("version")
        if held != version:
            found.append(f"{name} {version} (found {held or 'none'})")
    return found
