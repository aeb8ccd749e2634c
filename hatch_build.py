"""Build hook of the avadm wheel: adds what a checkout has beside Python packages, AVA's client and the commit.

An installed avadm finds playbooks, roles and the rest in ``avadm/content`` (`avadm.paths.home`), laid out as in the
repository.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONTENT = (
    "ansible.cfg",
    "ava",
    "distributions/ava-client",
    "docs",
    "inventory",
    "avadm_node",
    "playbooks",
    "plugins",
    "roles",
    "templates",
)
"""Files and folders of the repository that an installed avadm needs."""
GENERATED = (
    "roles/grafana/files/dashboards/*.json",
    "roles/prometheus/files/rules/*.yml",
    "docs/reference/generated/*",
)
"""What scripts/generate writes into these folders, and git does not track; the pages are there after `make reference` alone."""
LEFT_OUT = (".png", ".svg")
"""Pictures of the documentation, which nothing reads on a controller."""


def content(root: Path) -> dict[str, Path]:
    """Return the files of ``avadm/content``: path in it to path on disk; symbolic links are followed.

    Only what git tracks, where there is git, and what is generated: a site file, a vault or a key that lies in the checkout
    is in no wheel.
    """
    tracked = [*_tracked(root), *(p.relative_to(root).as_posix() for g in GENERATED for p in root.glob(g))]
    found: dict[str, Path] = {}
    for name in tracked:
        path = root / name
        if path.is_dir():  # a link to a folder
            target = path.resolve().relative_to(root.resolve()).as_posix()
            below = [other for other in tracked if other.startswith(f"{target}/")]
            found |= {f"{name}{other.removeprefix(target)}": root / other for other in below}
        elif path.is_file() and not (name.startswith("docs/") and path.suffix in LEFT_OUT):
            found[name] = path
    return dict(sorted(found.items()))


def _tracked(root: Path) -> Iterator[str]:
    if (root / ".git").exists():
        argv = ["git", "-C", str(root), "ls-files", "-z", "--", *CONTENT]
        yield from filter(
            None, subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        )
        return
    for path in (path for name in CONTENT for path in (root / name, *(root / name).rglob("*"))):
        if (path.is_file() or path.is_symlink()) and "__pycache__" not in path.parts:
            yield path.relative_to(root).as_posix()


def commit(root: Path) -> str:
    """Return the commit of a checkout, ``-dirty`` with local changes; "" where there is no git."""
    if not (root / ".git").exists():
        return ""
    argv = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(argv, check=False, stdout=subprocess.PIPE, text=True).stdout.strip()


def client(root: Path) -> dict[str, Path]:
    """Return the files of the ava-client distribution."""
    path = root / "distributions" / "ava-client" / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("ava_client_hook", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Path] = module.modules(root / "ava")
    return found


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the files to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate what roles install, and add the files; hatchling calls it before it packs.

        An editable install uses the checkout's.
        """
        subprocess.run([sys.executable, str(Path(self.root) / "scripts/generate")], check=True)
        if version == "editable":
            return
        root, self._folder = Path(self.root), tempfile.TemporaryDirectory()
        staged = Path(self._folder.name)
        files = {f"avadm/content/{name}": path for name, path in content(root).items()} | client(root)
        for name, path in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, staged / name)
        (staged / "avadm" / "COMMIT").write_text(f"{commit(root)}\n", encoding="utf-8")
        build_data["force_include"].update({str(path): path.name for path in staged.iterdir()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the staged files; hatchling calls it at the end."""
        if version != "editable":
            self._folder.cleanup()
