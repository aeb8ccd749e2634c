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
    """Return the folder with what packages hold, fetched once, and with what they need and this machine does not have.

    Args:
        name: of the folder.
        packages: as apt knows them.
        program: path of a file that is there afterwards, by which one knows.

    Raises:
        subprocess.CalledProcessError: they are not available.
    """
    there = CACHE / name
    if not (there / program).exists() or unloadable(there, program):
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            subprocess.run(
                ["apt-get", "-q", "download", *_with_needed(packages)],
                cwd=folder,
                check=True,
                capture_output=True,
            )
            for package in Path(folder).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, Path(folder) / "out"], check=True)
            shutil.copytree(Path(folder) / "out", there, dirs_exist_ok=True)
    return there


def environment(there: Path) -> dict[str, str]:
    """Return the environment in which a program finds the libraries that were unpacked with it."""
    folders = [one for lib in (there / "usr/lib", there / "lib") for one in sorted(lib.glob("*/"))]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}


def unloadable(there: Path, program: str) -> list[str]:
    """Return the libraries of a program that neither its folder nor this machine has; none of a script or a static program."""
    done = subprocess.run(
        ["ldd", there / program], env=environment(there), capture_output=True, text=True, check=False
    )
    return [line.split()[0] for line in done.stdout.splitlines() if line.endswith("not found")]


def _with_needed(packages: Sequence[str]) -> list[str]:
    """Return packages with all that apt would install with them."""
    done = subprocess.run(
        ["apt-get", "-qq", "--simulate", "--no-install-recommends", "install", *packages],
        check=True,
        capture_output=True,
        text=True,
    )
    needed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("Inst ")]
    return list(dict.fromkeys([*packages, *needed]))
