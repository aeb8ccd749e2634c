"""Programs of the distribution, unpacked and not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "avadm/platform"


def unpacked(name: str, packages: Sequence[str], program: str) -> Path:
    """Return the folder with what packages hold, fetched once.

    Args:
        name: of the folder.
        packages: as apt knows them.
        program: path of a file that is there afterwards, by which one knows.

    Raises:
        subprocess.CalledProcessError: they is not available.
    """
    there = CACHE / name
    if not (there / program).exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            subprocess.run(
                ["apt-get", "-q", "download", *packages], cwd=folder, check=True, capture_output=True
            )
            for package in Path(folder).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, Path(folder) / "out"], check=True)
            shutil.copytree(Path(folder) / "out", there, dirs_exist_ok=True)
    return there
