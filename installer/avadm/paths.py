"""Folders of avadm: playbooks and roles, caches, runs, and the file that names the default site."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CONTENT = _PACKAGE / "content"
"""What the wheel has of the repository beside Python packages (hatch_build.py); a checkout has no such folder."""
_site_folder: Path | None = None


def home() -> Path:
    """Return the folder that holds playbooks/ and roles/: AVADM_HOME, the wheel's content, or the checkout."""
    if env := os.environ.get("AVADM_HOME"):
        return Path(env)
    return _CONTENT if _CONTENT.is_dir() else _PACKAGE.parents[1]


def checkout() -> bool:
    """Return whether avadm runs from a checkout (or AVADM_HOME) and keeps its state there."""
    return bool(os.environ.get("AVADM_HOME")) or not _CONTENT.is_dir()


def set_site_folder(folder: Path) -> None:
    """Keep what runs leave behind in this folder, that of the site file; of no effect in a checkout."""
    global _site_folder
    _site_folder = folder


def runs() -> Path:
    """Return the folder of run folders: AVADM_RUNS, runs/ in the checkout, or runs/ beside the site file."""
    if env := os.environ.get("AVADM_RUNS"):
        return Path(env)
    return (home() if checkout() else _site_folder or Path.cwd()) / "runs"


def cache() -> Path:
    """Return the folder for what may be fetched or built again: AVADM_CACHE, or ~/.cache/avadm."""
    return Path(os.environ.get("AVADM_CACHE") or Path.home() / ".cache" / "avadm")


def default_site_pointer() -> Path:
    """Return the file whose one line names the default site file: of this checkout, else of this user."""
    if checkout():
        return home() / ".avadm" / "site"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "avadm" / "site"


def commit_file() -> Path:
    """Return the file that holds the commit that the wheel was built from; a checkout has none."""
    return _PACKAGE / "COMMIT"
