"""What the model of a file of people says about itself: its JSON Schema, and the tables of its keys."""

from __future__ import annotations

from typing import Any

from avadm.platform_users.model import People
from avadm.site import schema as own


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a file."""
    return own.schema(People, "users, groups and quotas of AVA")


def tables() -> str:
    """Return one Markdown table for each mapping of a file."""
    return own.tables(People)
