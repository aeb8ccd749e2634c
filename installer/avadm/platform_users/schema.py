"""What the model of a file of people says about itself: its JSON Schema, and the tables of docs/ava-people.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from avadm.paths import home
from avadm.platform_users.model import People
from avadm.site import schema as own

MARK = "<!-- generated from the model: python -m avadm.platform_users.schema -->"
"""What follows this line in docs/ava-people.md is generated."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a file."""
    return own.schema(People, "users, groups and quotas of AVA")


def tables() -> str:
    """Return one Markdown table for each mapping of a file."""
    return own.tables(People)


def update(docs: Path) -> None:
    """Write docs/ava-people.schema.json and the tables of docs/ava-people.md again."""
    own.write(docs / "ava-people.schema.json", docs / "ava-people.md", schema(), MARK, tables())


if __name__ == "__main__":
    update(home() / "docs")
