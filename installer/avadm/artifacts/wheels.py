"""Python packages for an image, from published wheels alone: each of the versions and checksums of a list.

The list (as pip reads it with ``--require-hashes``) is written by ``python -m avadm.artifacts.wheels NAME``, after a
change of the pins that it is made from.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from avadm import paths
from avadm.artifacts import recipe as r
from avadm.artifacts.manifest import Artifact, named

GLIBC = (17, 24, 26, 27, 28, 31, 34, 35, 36)
"""Minor versions of the C library that wheels may be made for: those up to Debian 12's, 2.36."""
_PIN = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;]+)")


class WheelError(Exception):
    """The packages are not available; the text is for people."""


def python(version: str) -> str | None:
    """Return a program of Python of that version (``3.11``); None where this machine has none."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return sys.executable if own == version else shutil.which(f"python{version}")


def _targets(version: str) -> list[str]:
    """Return for which system wheels are taken; nothing is built, and no wheel is for this machine alone."""
    short = version.replace(".", "")
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in reversed(GLIBC)] + ["manylinux2014_x86_64"]
    return [
        *("--only-binary=:all:", "--implementation=cp", f"--python-version={version}"),
        *(f"--abi={abi}" for abi in (f"cp{short}", "abi3", "none")),
        *(f"--platform={name}" for name in platforms),
    ]


def install(program: str, version: str, listed: Path, target: Path) -> tuple[str, ...]:
    """Return the command that puts the packages of a list into a folder; a wheel with another checksum is refused."""
    return (
        *(program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"),
        *("--no-deps", "--no-compile", "--require-hashes", f"--requirement={listed}", f"--target={target}"),
        *_targets(version),
    )


def compiled(program: str, root: Path) -> tuple[str, ...]:
    """Return the command that compiles all below a container's root, so that no one does it at each start."""
    return (
        *(program, "-m", "compileall", "-q", "-f", "-j", "1", "--invalidation-mode", "unchecked-hash"),
        *("-s", str(root), "-p", "/", str(root)),
    )


def slim(folder: Path) -> None:
    """Remove what is of no use to a program that runs: tests of packages, scripts with this machine's paths."""
    for path in (folder / "bin", *folder.glob("**/tests")):
        if path.is_dir():
            shutil.rmtree(path)


def pins(listed: Path) -> dict[str, str]:
    """Return package to version of a list; names as PyPI compares them."""
    found = (_PIN.match(line) for line in listed.read_text(encoding="utf-8").splitlines())
    return {plain(m[1]): m[2] for m in found if m}


def wanted(project: Path) -> list[str]:
    """Return the requirements of a pyproject.toml."""
    return list(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"])


def differences(listed: Path, project: Path) -> list[str]:
    """Return which pins of a pyproject.toml a list has not, for people."""
    held = pins(listed)
    asked = [m for m in map(_PIN.match, wanted(project)) if m]
    return [f"{m[0]} (found {held.get(plain(m[1]), 'none')})" for m in asked if held.get(plain(m[1])) != m[2]]


def plain(name: str) -> str:
    """Return a package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def record(artifact: Artifact) -> Path:
    """Ask PyPI what a list's project needs, and write the list again; return its path.

    Raises:
        WheelError: pip found no such wheels.
    """
    step = next(s.action for s in r.load(artifact.folder).steps if isinstance(s.action, r.Wheels))
    program, asked = python(step.python), wanted(paths.home() / step.project)
    if program is None:
        raise WheelError(f"There is no python{step.python} here.")
    with tempfile.TemporaryDirectory() as name:
        report = Path(name) / "report.json"
        argv = [
            *(program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--dry-run", "--ignore-installed", f"--report={report}", f"--target={name}/none"),
            *_targets(step.python),
            *asked,
        ]
        done = subprocess.run(argv, check=False)
        if done.returncode:
            raise WheelError(f"pip failed: exit status {done.returncode}")
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    lines = sorted(_line(one) for one in found)
    path = artifact.folder / step.list
    head = f"# Written by `python -m avadm.artifacts.wheels {artifact.name}` from {step.project}.\n"
    path.write_text(head + "".join(lines), encoding="utf-8")
    return path


def _line(one: dict[str, dict[str, dict[str, dict[str, str]]]]) -> str:
    meta, sums = one["metadata"], one["download_info"]["archive_info"]["hashes"]
    return f"{plain(str(meta['name']))}=={meta['version']} --hash=sha256:{sums['sha256']}\n"


def main(names: Sequence[str]) -> int:
    """Write the lists of artifacts."""
    for artifact in named(tuple(names)):
        print(f"wrote {record(artifact)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
