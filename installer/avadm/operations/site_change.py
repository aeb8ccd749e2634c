"""Changing the site file as a step of an operation."""

from __future__ import annotations

from pathlib import Path

from avadm.operations.model import Tell
from avadm.site import edit
from avadm.site.text import read_text


def change_site(path: Path, change: edit.Change, tell: Tell) -> None:
    """Change a site file as it is now, since an editor may have written it after the plan; show the difference.

    Raises:
        AvadmError: it cannot be read or written, or would not be good any more; then it is as before.
    """
    show(edit.write(path, edit.changed(read_text(path), change)), tell)


def show(diff: str, tell: Tell) -> None:
    """Show a difference, line by line."""
    for line in diff.rstrip("\n").split("\n"):
        tell(f"    {line}")
