"""Where things lie: the checkout (playbooks, roles), the caches, the runs."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Return the folder that holds playbooks/ and roles/ (the checkout), or AVADM_HOME."""
    if env := os.environ.get("AVADM_HOME"):
        return Path(env)
    return Path(__file__).resolve().parents[2]


def runs() -> Path:
    """Return the folder of run folders: AVADM_RUNS, or runs/ in the checkout."""
    return Path(os.environ.get("AVADM_RUNS") or home() / "runs")


def cache() -> Path:
    """Return the folder for what may be fetched or built again: AVADM_CACHE, or ~/.cache/avadm."""
    return Path(os.environ.get("AVADM_CACHE") or Path.home() / ".cache" / "avadm")


def default_site_pointer() -> Path:
    """Return the file whose one line names the default site file of this checkout."""
    return home() / ".avadm" / "site"
