"""The source of avadm_node, the package of what runs on nodes: a module, and all that it imports of the package."""

from __future__ import annotations

import ast
import threading
from functools import cache
from pathlib import Path

import avadm_node

FOLDER = Path(avadm_node.__file__).parent
BY_NAME = ("avadm_node.probes.health.parts",)
"""Modules that import those beside them by names which only a call brings: all of these come along."""
# Python 3.11 counts the depth of all threads' trees together and takes it for an error (cpython 106905).
_ONE_AT_A_TIME = threading.Lock()


def modules(name: str) -> dict[str, Path]:
    """Return a module of avadm_node and all that it imports of it, the packages that they are in as well: name to file."""
    found: dict[str, Path] = {}
    left = [name]
    while left:
        here = left.pop()
        path = _file(here)
        if path is None or here in found:
            continue
        found[here] = path
        package = here.rpartition(".")[0]
        left += [package, *_imports(here, path)]
        if here in BY_NAME:
            left += [
                f"{package}.{beside.stem}" for beside in path.parent.glob("*.py") if beside.stem != "__init__"
            ]
    return dict(sorted(found.items()))


@cache
def _imports(name: str, path: Path) -> list[str]:
    """Return what a module imports relatively; of ``from .a import b`` both a and a.b, whichever of them is a module."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    with _ONE_AT_A_TIME:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = package.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def _file(name: str) -> Path | None:
    """Return the file of a module of avadm_node; None where there is none."""
    path = FOLDER.joinpath(*name.split(".")[1:])
    return next((p for p in (path / "__init__.py", path.with_suffix(".py")) if name and p.is_file()), None)
