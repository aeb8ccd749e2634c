"""Modules of the platform: no circle of imports, and routes that nothing else calls."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[3]


@cache
def graph() -> dict[str, set[str]]:
    """Return what each module of ``ava`` imports of ``ava``, inside functions too."""
    paths = {_name(path): path for path in (ROOT / "ava").rglob("*.py")}
    return {name: _imports(path) & paths.keys() - {name} for name, path in paths.items()}


def _name(path: Path) -> str:
    return ".".join(part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__")


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_module_imports_itself_through_others() -> None:
    packages = {name for name in graph() if any(other.startswith(f"{name}.") for other in graph())}
    # Of ``from package import module`` the module alone counts.
    TopologicalSorter({name: found - packages for name, found in graph().items()}).prepare()


def test_nothing_but_the_program_of_both_imports_the_api() -> None:
    # Pages and the file service call services, as routes do; ``python -m ava.web`` serves the API and the pages.
    found = {name for name, names in graph().items() if any(n.split(".")[1:2] == ["api"] for n in names)}
    assert {name for name in found if name.split(".")[1] != "api"} == {"ava.web.__main__"}
