"""Build hook of the ava-client wheel: adds the modules of ``ava`` that the command line and the client import."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENTRIES = ("cli", "client")
"""Packages of ``ava`` that are wanted whole; everything else is there because one of their modules imports it."""


def modules(ava: Path) -> dict[str, Path]:
    """Return the files of the client distribution: path in the wheel to path on disk.

    Args:
        ava: the folder of the package ``ava``.
    """
    found: dict[str, Path] = {}
    left = [path for entry in ENTRIES for path in (ava / entry).rglob("*.py")]
    while left:
        path = left.pop()
        name = f"ava/{path.relative_to(ava).as_posix()}"
        if name in found:
            continue
        found[name] = path
        # A module is of no use without the packages that it is in.
        packages = (folder / "__init__.py" for folder in path.parents if folder.is_relative_to(ava))
        left += [*packages, *_imported(path, ava)]
    return dict(sorted({"ava/py.typed": ava / "py.typed", **found}.items()))


def _imported(path: Path, ava: Path) -> list[Path]:
    """Return the files of ``ava`` that a module imports, in functions too; of ``from a import b`` both."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    stems = [ava.joinpath(*name.split(".")[1:]) for name in names if name.split(".")[0] == "ava"]
    return [
        file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file()
    ]


class CustomBuildHook(BuildHookInterface[Any]):
    """Adds the modules to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the modules; hatchling calls it before it packs."""
        ava = Path(self.root).parents[1] / "ava"
        build_data["force_include"].update({str(path): name for name, path in modules(ava).items()})
