"""The commit that avadm was built from: of a wheel as it was baked in, of a checkout as git has it."""

from __future__ import annotations

import subprocess

from avadm import paths


def commit() -> str:
    """Return the commit, ``-dirty`` with local changes; "" where it is not known."""
    try:
        return paths.commit_file().read_text(encoding="ascii").strip()
    except OSError:
        pass
    if not (paths.home() / ".git").exists():
        return ""
    argv = ["git", "-C", str(paths.home()), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
